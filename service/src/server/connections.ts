import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { arrivalOrder } from './arrival-order.ts'

export interface ConnectionLimits {
  maxConnections: number
  maxConnectionsPerAddress: number
  maxPipelined: number
  stalledResponseMs: number
  responseMs: number
}

/** The open connections of one server. */
export interface Connections {
  /**
   * Waits for the responses to earlier requests of this connection, because responses that wait would fill the memory, and then
   * for requests of other connections that arrived before. Returns `closed` if the connection closes during the wait.
   */
  turn(outgoing: ServerResponse): Promise<'go' | 'closed'>
}

interface Connection {
  readonly socket: Socket
  readonly address: string | undefined
  /** The requests without a response, in their order. The first one is in progress. */
  readonly turns: (() => void)[]
  /** The request that arrived last. */
  latest: IncomingMessage | undefined
  /** How much had been read when the last response was complete. Undefined before that. */
  bytesAtResponse: number | undefined
}

/**
 * Limits the number of connections (`limits.connections`, 2,000; `connectionsPerAddress`, 1,000), and how long each may stay without
 * progress: a client that receives nothing of a response (`stalledResponseMs`, 20 s), and a whole response (`responseMs`, 2 minutes).
 * More than `pipelinedRequests`, 16 requests before a response close it (S-085, A-47).
 */
export function watchConnections(server: Server, limits: ConnectionLimits): Connections {
  // In the order of the last request, or of the connection if it sent no request yet.
  const open = new Map<Socket, Connection>()
  const inOrder = arrivalOrder()

  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress
    if (!makeRoom(open, address, limits)) return socket.destroy()
    const connection: Connection = { socket, address, turns: [], latest: undefined, bytesAtResponse: undefined }
    open.set(socket, connection)
    socket.once('close', () => {
      open.delete(socket)
      for (const go of connection.turns.splice(0)) go()
    })
  })
  // Node's timer starts again with each byte. It also fires while a response is prepared or a body is awaited.
  server.timeout = limits.stalledResponseMs
  server.on('timeout', (socket: Socket) => {
    const connection = open.get(socket)
    const isWaitingForMore = connection?.turns.length === 0 && connection.bytesAtResponse !== undefined
    if (socket.writableLength > 0 || isWaitingForMore) socket.destroy()
  })
  // close() calls this. Node's own function counts a response as sent once it is written, and would cut it off.
  server.closeIdleConnections = () => {
    for (const connection of open.values()) if (isIdle(connection)) connection.socket.destroy()
  }

  function settle(connection: Connection): void {
    connection.turns.shift()
    connection.bytesAtResponse = connection.socket.bytesRead
    connection.turns[0]?.()
    // destroy() could discard the response if the client is sending already, so only this side is closed.
    if (!server.listening && isIdle(connection)) connection.socket.end()
  }
  return {
    async turn(outgoing) {
      const { socket } = outgoing.req
      const connection = open.get(socket)
      if (connection === undefined) return 'closed'
      open.delete(socket)
      open.set(socket, connection)
      connection.latest = outgoing.req
      if ((await waitForTurn(connection, limits.maxPipelined, inOrder)) === 'closed') return 'closed'
      const overdue = setTimeout(() => socket.destroy(), limits.responseMs).unref()
      outgoing.once('close', () => {
        clearTimeout(overdue)
        settle(connection)
      })
      return 'go'
    },
  }
}

/** Closes a connection without a whole request if there are too many. Returns false if each one has such a request. */
function makeRoom(open: Map<Socket, Connection>, address: string | undefined, limits: ConnectionLimits): boolean {
  if (open.size < Math.min(limits.maxConnections, limits.maxConnectionsPerAddress)) return true
  const sameAddress = [...open.values()].filter((connection) => connection.address === address)
  if (sameAddress.length >= limits.maxConnectionsPerAddress) return closeOne(open, sameAddress)
  return open.size < limits.maxConnections || closeOne(open, [...open.values()])
}

/** Closes the oldest one. By state instead of age, new connections, whose headers are on the way, would close each other. */
function closeOne(open: Map<Socket, Connection>, connections: Connection[]): boolean {
  const closed = connections.find((connection) => !hasWholeRequest(connection))
  closed?.socket.destroy()
  return closed !== undefined && open.delete(closed.socket)
}

/** Waits until the request is the first of its connection, and of those that arrived. */
async function waitForTurn(
  { socket, turns }: Connection,
  maxPipelined: number,
  inOrder: () => Promise<void>,
): Promise<'go' | 'closed'> {
  if (turns.length < maxPipelined) {
    await new Promise<void>((go) => {
      turns.push(go)
      if (turns.length === 1) go()
    })
    await inOrder()
    if (socket.writable) return 'go'
  }
  socket.destroy()
  return 'closed'
}

/** Returns whether no request is in progress and nothing is being sent or received. */
function isIdle({ socket, turns, bytesAtResponse }: Connection): boolean {
  return turns.length === 0 && socket.writableLength === 0 && socket.bytesRead === bytesAtResponse
}

/** Returns whether a request whose body has arrived is in progress, or its response is not sent yet. */
function hasWholeRequest({ socket, turns, latest }: Connection): boolean {
  return turns.length > 1 || socket.writableLength > 0 || (turns.length === 1 && latest?.complete === true)
}
