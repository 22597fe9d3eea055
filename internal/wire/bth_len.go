package wire

// BTHLen is the length of the base transport header in bytes (IBTA vol. 1 §9.2).
const BTHLen = 12
