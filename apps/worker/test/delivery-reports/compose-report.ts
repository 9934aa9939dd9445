/** Composes delivery reports and complaints as mail servers send them. */

interface Report {
  subject?: string
  from?: string
  headers?: string[]
  text?: string
  /** The fields of the message, and of each recipient. */
  status?: string[]
  statusType?: string
  /** The transfer encoding of the status. */
  encoding?: 'base64' | 'quoted-printable'
}

export const lines = (...text: string[]) => text.join('\r\n')

/** Composes a report (RFC 3464) with the parts that it usually has. */
export function composeReport(report: Report): string {
  const { subject = 'Undelivered Mail Returned to Sender', from = 'Mail Delivery System <MAILER-DAEMON@mx.example>' } =
    report
  const {
    headers = [],
    text = 'Your message could not be delivered.',
    status,
    statusType = 'message/delivery-status',
  } = report
  const head = [`From: ${from}`, 'To: b+token@bounces.example', `Subject: ${subject}`, ...headers, 'MIME-Version: 1.0']
  if (!status) return lines(...head, 'Content-Type: text/plain; charset=utf-8', '', text, '')
  const body = status.join('\r\n\r\n')
  const { encoding } = report
  const encoded = encoding === 'base64' ? Buffer.from(body).toString('base64').replace(/.{76}/g, '$&\r\n') : body
  return lines(
    ...head,
    'Content-Type: multipart/report; report-type=delivery-status; boundary="=_report"',
    '',
    '--=_report',
    'Content-Type: text/plain; charset=utf-8',
    '',
    text,
    '--=_report',
    `Content-Type: ${statusType}`,
    ...(encoding ? [`Content-Transfer-Encoding: ${encoding}`] : []),
    '',
    encoded,
    '',
    '--=_report',
    'Content-Type: message/rfc822',
    '',
    'From: sender@crm.example',
    'To: other@victim.example',
    'Subject: News',
    'Message-ID: <1@crm.example>',
    '',
    '550 5.1.1 quoted text of the original email',
    '--=_report--',
    '',
  )
}

export const mta = (name: string) => `Reporting-MTA: dns; ${name}\r\nArrival-Date: Thu, 26 Nov 2026 08:00:00 +0000`
export const fields = lines

/** Composes a complaint (RFC 5965). */
export function composeComplaint(...names: string[]): string {
  return composeReport({
    from: 'Abuse <complaints@provider.example>',
    subject: 'Email Feedback Report',
    statusType: 'message/feedback-report',
    status: [fields('Feedback-Type: abuse', 'User-Agent: Example/1.0', 'Version: 1', ...names)],
  })
}

/** A report, and how a mail administrator would classify it. Undefined: it is no bounce. */
export type Shape = [name: string, raw: string, expected: { class: string; code: string | null } | undefined]
