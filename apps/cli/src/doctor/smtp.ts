import { rootMessageOf } from '@rapport/core/kernel/errors.ts'
import { isLoopbackHost } from '@rapport/core/webhooks/address-policy.ts'
import { createTransport } from 'nodemailer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { type Check, findingsAbout, type Finding } from './finding.ts'

const { ok, warn, fail } = findingsAbout('SMTP')
const timeouts = { connectionTimeout: 2_500, greetingTimeout: 2_500, socketTimeout: 2_500, dnsTimeout: 2_500 }

/** Connects, starts TLS and logs in as the worker does, and disconnects without sending a mail. */
export const smtpCheck: Check = {
  about: 'SMTP',
  async run({ config: { SMTP_URL } }) {
    if (!SMTP_URL) return []
    const { auth, ...options } = createTransport(SMTP_URL).options
    const where = `${options.host}:${options.port ?? (options.secure ? 465 : 587)}`
    const connection = new SMTPConnection({ ...options, ...timeouts })
    try {
      await new Promise<void>((resolve, reject) => {
        connection.once('error', reject)
        connection.once('end', () => reject(new Error('Connection closed')))
        connection.connect((error) => (error ? reject(error) : resolve()))
      })
      connection.on('error', () => {})
      const login = auth ? await logIn(connection, auth) : undefined
      connection.quit()
      return [
        login ?? ok(`${where} accepts the connection${auth ? ' and the login' : ''}`),
        ...checkTls(connection, where),
      ]
    } catch (error) {
      return [
        fail(
          `${where}: ${rootMessageOf(error)}`,
          'Emails wait until the server is reachable. Check SMTP_URL and the firewall for this port.',
        ),
      ]
    } finally {
      connection.close()
    }
  },
}

interface Login {
  user?: string | undefined
  pass?: string | undefined
}

/** Returns a finding if the login fails. */
async function logIn(connection: SMTPConnection, { user = '', pass = '' }: Login): Promise<Finding | undefined> {
  if (!connection.allowsAuth) {
    return warn(
      'the server offers no login, so the password is not used',
      'Remove user and password from SMTP_URL, or use another port.',
    )
  }
  const error = await new Promise<unknown>((resolve) => {
    connection.login({ user, credentials: { user, pass } }, resolve)
  })
  if (!error) return undefined
  const { response = rootMessageOf(error) } = error as { response?: string }
  return fail(`the login failed: ${response}`, 'Check user and password in SMTP_URL; both must be percent-encoded.')
}

function checkTls({ secure }: SMTPConnection & { secure?: boolean }, where: string): Finding[] {
  if (secure) return [ok('the connection is encrypted')]
  if (isLoopbackHost(where.replace(/:\d+$/, ''))) return []
  return [
    warn(
      `${where} offers no STARTTLS: emails and the password are sent unencrypted`,
      'Use a port with TLS, such as smtps://…:465.',
    ),
  ]
}
