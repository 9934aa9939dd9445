import { TimeoutError, withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import { rootMessageOf } from '@rapport/core/kernel/errors.ts'
import { parseImapUrl } from '@rapport/core/mail/bounces/parse-imap-url.ts'
import { ImapFlow } from 'imapflow'
import { findingsAbout, type Finding } from './finding.ts'

const { ok, fail } = findingsAbout('Bounces')
const timeoutMs = 2_500

/** Logs in and opens the mailbox, to read only: no message is marked as seen. */
export async function checkMailbox(url: string): Promise<Finding> {
  // The timeout below comes first, whatever the server waits for.
  const { options, mailbox } = parseImapUrl(url, 2 * timeoutMs)
  const where = `${options.host}:${options.port}`
  const client = new ImapFlow(options)
  // Without a listener, a lost connection would end the process. The pending call fails too.
  client.on('error', () => {})
  try {
    const opening = client.connect().then(() => client.mailboxOpen(mailbox, { readOnly: true }))
    await withTimeout(opening, timeoutMs)
    return ok(`${where} opens the mailbox ${mailbox}`)
  } catch (error) {
    return describeFailure(error, { where, mailbox, isLoggedIn: Boolean(client.authenticated) })
  } finally {
    client.close()
  }
}

interface Attempt {
  where: string
  mailbox: string
  isLoggedIn: boolean
}

function describeFailure(error: unknown, { where, mailbox, isLoggedIn }: Attempt): Finding {
  const { authenticationFailed, responseStatus, responseText } = error as Record<string, unknown>
  if (error instanceof TimeoutError)
    return fail(
      `${where}: no response within ${timeoutMs / 1_000} seconds`,
      'Check BOUNCE_IMAP_URL and the firewall for this port.',
    )
  const response = typeof responseText === 'string' && responseText ? responseText : rootMessageOf(error)
  if (authenticationFailed)
    return fail(
      `${where}: the login failed: ${response}`,
      'Check user and password in BOUNCE_IMAP_URL; both must be percent-encoded.',
    )
  if (isLoggedIn && responseStatus === 'NO')
    return fail(
      `${where} cannot open the mailbox ${mailbox}: ${response}`,
      'Check the path of BOUNCE_IMAP_URL, such as /INBOX.',
    )
  return fail(`${where}: ${response}`, 'Bounces wait in the mailbox. Check BOUNCE_IMAP_URL and the firewall.')
}
