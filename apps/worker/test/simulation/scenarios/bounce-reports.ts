/** Reports about the emails of a campaign, by every way by which they come. A mailbox is read by the same function as the listener. */
import type { CampaignId, ContactId, MailHookId } from '@rapport/core/kernel/ids.ts'
import type { Bounce } from '@rapport/core/mail/bounces/classify-bounce.ts'
import { createRecipientToken } from '@rapport/core/mail/bounces/recipient-token.ts'
import { receiveHookMessage } from '@rapport/core/operations/mail/receive-hook-message.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { reportByClient } from '@rapport/testing/fixtures/mail-reports.ts'
import { complaints } from '@rapport/testing/mail-providers/provider-bounces.ts'
import { readTestCertificate, signMessage } from '@rapport/testing/mail-providers/provider-messages.ts'
import { readMail } from '../../../src/bounces/parsing/parse-report.ts'
import { recordBounceMail } from '../../../src/bounces/record-bounce-mail.ts'
import { composeComplaint, composeReport, fields, mta } from '../../delivery-reports/compose-report.ts'
import { type Choices, pick } from '../choices.ts'
import type { SimulatedCall } from '../world.ts'

/** An email that was sent. */
export interface SentMail {
  campaignId: CampaignId
  contactId: ContactId
  email: string
  /** The id that the mail server gave it. */
  providerId: string
}

/** What a server says, and the class that follows from it. `type` is the word of Postmark. */
interface Kind {
  class: Bounce['class'] | 'COMPLAINT'
  status: string
  response: string
  type: string
}

const kinds: readonly Kind[] = [
  { class: 'HARD', status: '5.1.1', response: '550 5.1.1 User unknown', type: 'HardBounce' },
  { class: 'SOFT', status: '4.2.2', response: '452 4.2.2 The mailbox is full', type: 'SoftBounce' },
  { class: 'SOFT', status: '5.0.0', response: '550 Zustellung fehlgeschlagen', type: 'Unknown' },
  { class: 'MESSAGE', status: '5.3.4', response: '552 5.3.4 The message is too large', type: 'VirusNotification' },
  { class: 'POLICY', status: '5.7.1', response: '550 5.7.1 Blocked', type: 'Blocked' },
  { class: 'COMPLAINT', status: '', response: '', type: 'SpamComplaint' },
]

/** What a mail server says of an email that it refuses. */
export const refusals: readonly Bounce[] = kinds.flatMap(({ class: kind, status: code }) =>
  kind === 'COMPLAINT' ? [] : [{ class: kind, code }],
)

/** A report. */
export interface Report extends SimulatedCall {
  mail: SentMail
  class: Kind['class']
  /** Whether it names the address of the email in a way that proves it. */
  isProven: boolean
  /** A bounce that names another address only: shown with its email, but it neither suppresses nor counts. */
  isOfOtherAddress: boolean
  /** Whether a worker has received it, once or more often. */
  isMade: boolean
}

interface Way {
  isProven: boolean
  send: (ctx: Ctx, mail: SentMail, kind: Kind) => Promise<unknown>
  /** A client only says whether a bounce is permanent. */
  knowsClass?: boolean
  /** What it reports names `otherAddress`. */
  namesOther?: boolean
}

/** The person has forwarded the email from there, or the report hides the address. */
const otherAddress = 'forwarded@example.com'

function toReturnPath(isProven: boolean): Way {
  return {
    isProven,
    namesOther: !isProven,
    async send(ctx, mail, kind) {
      const { workspaceId, settings } = ctx
      const token = createRecipientToken(settings.keys, { workspaceId, subject: mail, email: mail.email })
      const named = isProven ? mail.email : otherAddress
      const raw =
        kind.class === 'COMPLAINT' ? composeComplaint(`Original-Rcpt-To: ${named}`) : composeBounce(named, kind)
      const content = await readMail(Buffer.from(raw))
      if (!content || !(await recordBounceMail(ctx, token, content))) throw new Error('The mail reports nothing')
    },
  }
}

const composeBounce = (email: string, { status, response }: Kind) =>
  composeReport({
    status: [
      mta('mx.example'),
      fields(
        `Final-Recipient: rfc822; ${email}`,
        'Action: failed',
        `Status: ${status}`,
        `Diagnostic-Code: smtp; ${response}`,
      ),
    ],
  })

function toHook(hookId: MailHookId): Way {
  return {
    isProven: false,
    async send(ctx, { email, providerId }, { class: kind, response, type }) {
      const bounce = { RecordType: 'Bounce', Type: type, MessageID: providerId, Email: email, Details: response }
      const content = kind === 'COMPLAINT' ? complaints.postmark({ email, providerId }) : bounce
      const message = signMessage.postmark(content)
      const received = {
        provider: 'postmark',
        hookId,
        ...message,
        now: new Date(),
        readUrl: readTestCertificate,
      } as const
      // The scheduler decides which of them runs, and sees what waits for a lock, but not what waits for its turn.
      await receiveHookMessage(ctx, { ...received, inTurn: (_, work) => work() })
    },
  }
}

const byClient: Way = {
  isProven: true,
  knowsClass: false,
  async send(ctx, { campaignId, contactId, email }, { class: kind }) {
    const messageId = `<${campaignId}.${contactId}@example.com>`
    const bounce = { type: 'BOUNCE', permanent: kind === 'HARD' }
    await reportByClient(ctx, { email, messageId, ...(kind === 'COMPLAINT' ? { type: kind } : bounce) })
  },
}

/** Chooses reports. About half of them come once more, by another way. */
export function chooseReports(
  choices: Choices,
  { mails, hookId }: { mails: readonly SentMail[]; hookId: MailHookId },
): Report[] {
  const ways = [toReturnPath(true), toReturnPath(false), toHook(hookId), byClient]
  const reports: Report[] = []
  for (let chosen = 0; chosen < 4; chosen++) {
    const [mail, kind] = [pick(choices, mails), pick(choices, kinds)]
    const times = pick(choices, [1, 2])
    for (let time = 0; time < times; time++) reports.push(createReport(pick(choices, ways), mail, kind))
  }
  return reports.map((report, number) => Object.assign(report, { name: `report-${number}` }))
}

/** The class with which a report is recorded. No bounce is HARD for an address that it does not name. */
function classOf({ knowsClass = true, namesOther = false }: Way, kind: Kind): Kind['class'] {
  if (kind.class === 'COMPLAINT') return kind.class
  if (kind.class === 'HARD') return namesOther ? 'SOFT' : 'HARD'
  return knowsClass ? kind.class : 'SOFT'
}

function createReport(way: Way, mail: SentMail, kind: Kind): Report {
  const report: Report = {
    name: '',
    mail,
    class: classOf(way, kind),
    isProven: way.isProven,
    isOfOtherAddress: way.namesOther === true && kind.class !== 'COMPLAINT',
    isMade: false,
    isRepeated: true,
    call(ctx) {
      report.isMade = true
      return way.send(ctx, mail, kind)
    },
  }
  return report
}
