import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  maxConnections: number
  maxConnectionsPerAddress: number
  maxPipelined: number
  stalledAnswerMs: number
  answerMs: number
}

/** The open connections of one server. */
export interface Connections {
  /**
   * Waits for the responses to earlier requests of this connection, because responses that wait would fill the memory.
   * Returns `gone` if the connection is closed meanwhile.
   */
  turn(outgoing: ServerResponse): Promise<'go' | 'gone'>
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

/** Limits the number of connections, and how long each may stay without progress (S-085, A-47). */
export function watchConnections(server: Server, limits: ConnectionLimits): Connections {
  // In the order of the last request, or of the connection if it sent no request yet.
  const open = new Map<Socket, Connection>()

  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress
    if (!makeRoom(address)) return socket.destroy()
    const connection: Connection = { socket, address, turns: [], latest: undefined, bytesAtResponse: undefined }
    open.set(socket, connection)
    socket.once('close', () => {
      open.delete(socket)
      for (const go of connection.turns.splice(0)) go()
    })
  })
  // Node's timer starts again with each byte. It also fires while a response is prepared or a body is awaited.
  server.timeout = limits.stalledAnswerMs
  server.on('timeout', (socket: Socket) => {
    const connection = open.get(socket)
    const isWaitingForMore = connection?.turns.length === 0 && connection.bytesAtResponse !== undefined
    if (socket.writableLength > 0 || isWaitingForMore) socket.destroy()
  })
  // close() calls this. Node's own function counts a response as sent once it is written, and would cut it off.
  server.closeIdleConnections = () => {
    for (const connection of open.values()) if (isIdle(connection)) connection.socket.destroy()
  }

  /** Closes a connection without a whole request if there are too many. */
  function makeRoom(address: string | undefined): boolean {
    if (open.size < Math.min(limits.maxConnections, limits.maxConnectionsPerAddress)) return true
    const sameAddress = [...open.values()].filter((connection) => connection.address === address)
    if (sameAddress.length >= limits.maxConnectionsPerAddress) return dropOne(sameAddress)
    return open.size < limits.maxConnections || dropOne([...open.values()])
  }
  /** The oldest one: an order by state would let new connections, whose headers are on the way, push out each other. */
  function dropOne(connections: Connection[]): boolean {
    const dropped = connections.find((connection) => !hasWholeRequest(connection))
    dropped?.socket.destroy()
    if (dropped !== undefined) open.delete(dropped.socket)
    return dropped !== undefined
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
      if (connection === undefined) return 'gone'
      open.delete(socket)
      open.set(socket, connection)
      connection.latest = outgoing.req
      const { turns } = connection
      if (turns.length >= limits.maxPipelined) {
        socket.destroy()
        return 'gone'
      }
      await new Promise<void>((go) => {
        turns.push(go)
        if (turns.length === 1) go()
      })
      if (!socket.writable) {
        socket.destroy()
        return 'gone'
      }
      const overdue = setTimeout(() => socket.destroy(), limits.answerMs).unref()
      outgoing.once('close', () => {
        clearTimeout(overdue)
        settle(connection)
      })
      return 'go'
    },
  }
}

/** No request is in progress, and nothing is being sent or received. */
function isIdle({ socket, turns, bytesAtResponse }: Connection): boolean {
  return turns.length === 0 && socket.writableLength === 0 && socket.bytesRead === bytesAtResponse
}

/** A whole request is in progress, or its response is not sent. A request is whole once its body has arrived. */
function hasWholeRequest({ socket, turns, latest }: Connection): boolean {
  return turns.length > 1 || socket.writableLength > 0 || (turns.length === 1 && latest?.complete === true)
}
