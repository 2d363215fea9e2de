import { freePort } from './free-port.ts'

// Started by free-port.test.ts: says which ports it is given, and keeps them until it is killed.

process.on('message', () => {})
const ports = new Set<number>()
for (let call = 0; call < 600; call++) ports.add(await freePort())
process.send?.([...ports])
