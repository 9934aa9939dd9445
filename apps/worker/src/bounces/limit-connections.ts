/**
 * What keeps one client from holding all connections of the bounce listener: a limit for each network, and a deadline for
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

const maxConnections = 100
/** A mail server opens few connections to one host. */
const maxPerNetwork = 20

/** What tells a connection from all others. */
interface Peer {
  localAddress: string
  remoteAddress: string
  remotePort: number
}

interface Connection {
  network: string
  socket: Socket
  timer?: NodeJS.Timeout
}

export function limitConnections(server: Server, { commandMs, messageMs, connectionMs }: ConnectionLimits) {
  const connections = new Map<string, Connection>()

  server.on('connection', (socket: Socket) => {
    const { localAddress = '', remoteAddress = '', remotePort = 0 } = socket
    const network = normalizeClientIp(remoteAddress) ?? remoteAddress
    const others = [...connections.values()].filter((other) => other.network === network)
    if (connections.size >= maxConnections || others.length >= maxPerNetwork) return refuse(socket)
    const key = keyOf({ localAddress, remoteAddress, remotePort })
    const connection: Connection = { network, socket }
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
    expectCommand: (peer: Peer) => setDeadline(peer, commandMs),
    expectMessage: (peer: Peer) => setDeadline(peer, messageMs),
    /** While this server works, the client has no deadline but that of the connection. */
    expectNothing: (peer: Peer) => setDeadline(peer, undefined),
  }
}

/** At once, so that a connection which is refused takes no room. */
function refuse(socket: Socket): void {
  socket.end('421 4.7.0 Too many connections\r\n')
  socket.destroySoon()
}

const keyOf = ({ localAddress, remoteAddress, remotePort }: Peer) =>
  [toSessionAddress(localAddress), toSessionAddress(remoteAddress), remotePort].join(' ')

/** The session of smtp-server has another form of an IPv4 address than the socket. */
const toSessionAddress = (address: string) => address.replace(/^::ffff:/i, '')
