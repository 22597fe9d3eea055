// Package sa is the subnet administration of a subnet manager (IBTA vol. 1
// chapter 15): records about the subnet, paths, multicast groups, services and
// subscriptions to notices, over QP 1.
//
// An Agent answers from the subnet as the manager's last complete sweep left
// it. Answers to GetTable and GetMulti are multi-packet (RMPP); those to Get
// are single. While the manager is not master the agent says nothing.
package sa
