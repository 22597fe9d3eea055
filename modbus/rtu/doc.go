// Package rtu is Modbus in RTU transmission mode: the coding of characters and
// frames, the framer for requests and replies, and the slave engine.
//
// Read "MODBUS over serial line specification and implementation guide V1.02",
// 2.5, and "MODBUS application protocol specification V1.1b3", 6 and 7, first.
package rtu
