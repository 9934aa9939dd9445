import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/**
 * Listens on PostgreSQL channels. Calls `onNotify` with the payload of each notification, and with an empty payload
 * after each (re)connection, because notifications may have been missed. Reconnects until it is closed.
 */
export function listen(
  databaseUrl: string,
  channels: readonly string[],
  options: { onNotify: (payload: string) => void; onError: (error: Error) => void },
): { close(): Promise<void> } {
  const closing = new AbortController()
  const running = (async () => {
    while (!closing.signal.aborted) {
      await listenUntilDisconnected().catch(options.onError)
      await sleep(1_000, undefined, { signal: closing.signal }).catch(() => {})
    }
  })()

  async function listenUntilDisconnected() {
    const client = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'rapport listen',
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
    })
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    client.on('error', options.onError)
    client.on('notification', ({ payload = '' }) => options.onNotify(payload))
    await client.connect()
    const stop = () => void client.end()
    closing.signal.addEventListener('abort', stop, { once: true })
    if (closing.signal.aborted) stop()
    for (const channel of channels) await client.query(`listen ${channel}`)
    options.onNotify('')
    await ended
    closing.signal.removeEventListener('abort', stop)
  }

  return {
    close() {
      closing.abort()
      return running
    },
  }
}
