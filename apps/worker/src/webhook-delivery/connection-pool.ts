/** The connections of one turn: each carries one request at a time, and several in a row. */
import { type buildConnector, Client } from 'undici'

/** Shorter than the idle timeout of any common server, so that a server never closes a connection that is just reused. */
const reuseWithinMs = 500

export interface Connection {
  readonly client: Client
  readonly origin: string
  /** Complete responses on the present socket. A Client replaces a socket that the receiver has closed. */
  responses: number
  idleSince: number
}

export interface PoolOptions {
  connect: buildConnector.connector
  timeoutMs: number
  /** Every client that is open, of all pools. */
  clients: Set<Client>
}

export type ConnectionPool = ReturnType<typeof openConnectionPool>

export function openConnectionPool({ connect, timeoutMs, clients }: PoolOptions) {
  const idle: Connection[] = []
  let isClosed = false

  function open(origin: string): Connection {
    const client = new Client(origin, {
      connect(options, callback) {
        connection.responses = 0
        connect(options, callback)
      },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxResponseSize: -1,
      // HTTP/2 and pipelining would put several requests on one connection at a time.
      allowH2: false,
      pipelining: 1,
      // undici closes an idle socket after this time, and after a hinted timeout less two seconds if that is sooner:
      // a hint of two seconds or less closes the connection after its response.
      keepAliveTimeout: reuseWithinMs,
      keepAliveMaxTimeout: reuseWithinMs,
      keepAliveTimeoutThreshold: 2_000,
    })
    clients.add(client)
    const connection: Connection = { client, origin, responses: 0, idleSince: 0 }
    return connection
  }

  async function discard({ client }: Connection): Promise<void> {
    clients.delete(client)
    await client.destroy()
  }

  return {
    discard,
    take(origin: string): Connection {
      // The last one has been idle for the shortest time.
      for (let connection = idle.pop(); connection; connection = idle.pop()) {
        // undici's timer is late when the event loop is.
        const isRecent = performance.now() - connection.idleSince < reuseWithinMs
        if (isRecent && connection.origin === origin) return connection
        void discard(connection)
      }
      return open(origin)
    },
    /** Only after a response that was read to its end. */
    keep(connection: Connection): void {
      if (isClosed) return void discard(connection)
      connection.responses += 1
      connection.idleSince = performance.now()
      idle.push(connection)
    },
    /** A connection in use is closed by `keep` or `discard`. */
    async close(): Promise<void> {
      isClosed = true
      await Promise.all(idle.splice(0).map(discard))
    },
  }
}
