/**
 * What keeps one client from holding all connections of the bounce listener: a limit for each client, and a deadline for
 * each command, which bytes without a command do not extend.
 */
import type { Server, Socket } from 'node:net'
import { normalizeClientIp } from '@rapport/core/kernel/client-ip.ts'

export interface ConnectionLimits {
  /** From the response to one command until the next one has arrived. */
  commandMs: number
  /** Of a message, from its begin to its end. */
  messageMs: number
  /** From the begin of a connection to its end. */
  connectionMs: number
}

/** A mail server opens few connections to one host. */
const maxPerClient = 20

interface Peer {
  remoteAddress: string
  remotePort: number
}

interface Connection {
  client: string
  isAllowed: boolean
  socket: Socket
  timer?: NodeJS.Timeout
}

export function limitConnections(server: Server, { commandMs, messageMs, connectionMs }: ConnectionLimits) {
  const connections = new Map<string, Connection>()

  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '', remotePort = 0 } = socket
    const key = keyOf({ remoteAddress, remotePort })
    const client = clientOf(remoteAddress)
    const others = [...connections.values()].filter((other) => other.isAllowed && other.client === client)
    const connection: Connection = { client, isAllowed: others.length < maxPerClient, socket }
    connections.set(key, connection)
    const whole = setTimeout(() => socket.destroy(), connectionMs)
    restart(connection, commandMs)
    socket.once('close', () => {
      clearTimeout(whole)
      clearTimeout(connection.timer)
      connections.delete(key)
    })
  })

  function restart(connection: Connection, ms: number | undefined): void {
    clearTimeout(connection.timer)
    if (ms !== undefined) connection.timer = setTimeout(() => connection.socket.destroy(), ms)
  }

  function setDeadline(peer: Peer, ms: number | undefined): void {
    const connection = connections.get(keyOf(peer))
    if (connection) restart(connection, ms)
  }

  return {
    /** Whether the client may have the connection beside its others. */
    isAllowed: (peer: Peer): boolean => connections.get(keyOf(peer))?.isAllowed ?? false,
    expectCommand: (peer: Peer) => setDeadline(peer, commandMs),
    expectMessage: (peer: Peer) => setDeadline(peer, messageMs),
    /** While this server works, the client has no deadline but that of the connection. */
    expectNothing: (peer: Peer) => setDeadline(peer, undefined),
  }
}

/** The session of smtp-server has another form of the address than the socket. */
const keyOf = ({ remoteAddress, remotePort }: Peer) => `${clientOf(remoteAddress)} ${remotePort}`
const clientOf = (address: string) => normalizeClientIp(address) ?? address
