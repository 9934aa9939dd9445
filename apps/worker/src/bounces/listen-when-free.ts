import { once } from 'node:events'
import type { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'

export interface ListenOptions {
  host: string
  port: number
  /** How soon the port is tried again, while another worker of this machine has it. */
  retryMs: number
  log: Logger
}

/**
 * Listens on a port. If another process has it, tries again until `stop`. Fails if the server cannot listen for another
 * reason; such an error of a later attempt is logged.
 */
export async function listenWhenFree(
  server: Server,
  { host, port, retryMs, log }: ListenOptions,
): Promise<{ stop: () => Promise<void> }> {
  const stopping = new AbortController()
  const isListening = await tryToListen(server, { host, port })
  if (!isListening) log.info({ port }, 'another worker of this machine receives bounces')
  const retrying = isListening ? undefined : retry()

  async function retry(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(retryMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (!stopping.signal.aborted && (await attempt())) return
    }
  }

  async function attempt(): Promise<boolean> {
    try {
      return await tryToListen(server, { host, port })
    } catch (error) {
      log.warn({ err: error, port }, 'bounces cannot be received; retrying')
      return false
    }
  }

  return {
    async stop() {
      stopping.abort()
      await retrying
    },
  }
}

/** Returns false if another process has the port. */
async function tryToListen(server: Server, address: { host: string; port: number }): Promise<boolean> {
  // Rejects with the first `error`, and removes its listeners of both events.
  const listening = once(server, 'listening')
  server.listen(address)
  try {
    await listening
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
}
