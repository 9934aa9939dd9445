import { createTransport } from 'nodemailer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { type Check, findingsAbout, type Finding, messageOf } from './finding.ts'
import { isLocalHost } from './public-url.ts'

const { ok, warn, fail } = findingsAbout('SMTP')
const timeouts = { connectionTimeout: 2_500, greetingTimeout: 2_500, socketTimeout: 2_500, dnsTimeout: 2_500 }

/** Greets, upgrades and logs in as the worker does, and takes leave before there is a mail. */
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
      return [login ?? ok(`${where} greets${auth ? ', and takes the login' : ''}`), ...judgeTls(connection, where)]
    } catch (error) {
      return [
        fail(`${where}: ${messageOf(error)}`, 'Mails wait meanwhile. See SMTP_URL, and the firewall for this port.'),
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

/** What is wrong with the login, if anything. */
async function logIn(connection: SMTPConnection, { user = '', pass = '' }: Login): Promise<Finding | undefined> {
  if (!connection.allowsAuth) {
    return warn(
      'the server offers no login, so none is made',
      'Take user and password out of SMTP_URL, or find the right port.',
    )
  }
  const error = await new Promise<unknown>((resolve) => {
    connection.login({ user, credentials: { user, pass } }, resolve)
  })
  if (!error) return undefined
  const { response = messageOf(error) } = error as { response?: string }
  return fail(`the login is refused: ${response}`, 'See user and password in SMTP_URL; each percent-encoded.')
}

function judgeTls({ secure }: SMTPConnection & { secure?: boolean }, where: string): Finding[] {
  if (secure) return [ok('the connection is encrypted')]
  if (isLocalHost(where.replace(/:\d+$/, ''))) return []
  return [
    warn(
      `${where} offers no STARTTLS: mails and the password go in clear`,
      'Use a port with TLS, such as smtps://…:465.',
    ),
  ]
}
