import type { Credentials } from './credentials.ts'
import { openMailStore } from './mail-store.ts'
import { startSmtp } from './smtp.ts'
import { startWeb } from './web.ts'

/** A mail server that stores all mails, to be viewed in a browser or with curl. */
export interface Inbox {
  stop(): Promise<void>
}

const maxMails = 1_000

/**
 * Starts the inbox on two loopback ports. Keeps the newest 1,000 mails in `directory`, also over restarts. Reading them
 * needs the credentials: mails contain links that give access to accounts.
 */
export async function startInbox(options: {
  directory: string
  smtpPort: number
  webPort: number
  credentials: Credentials
}): Promise<Inbox> {
  const store = await openMailStore(options.directory, maxMails)
  const smtp = await startSmtp(store, options.smtpPort)
  try {
    const web = await startWeb(store, { port: options.webPort, credentials: options.credentials })
    return {
      async stop() {
        await Promise.all([smtp.stop(), web.stop()])
      },
    }
  } catch (error) {
    await smtp.stop()
    throw error
  }
}
