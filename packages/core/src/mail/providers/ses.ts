/**
 * Notifications of Amazon SES, which arrive in messages of Amazon SNS:
 * https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html
 */
import { z } from 'zod'
import { isComplaint } from '../bounces/feedback-type.ts'
import { findTokenOf, readAddress, Text } from './hook-fields.ts'
import { type HookReader, malformedMessage, parseJson } from './hook-message.ts'
import { describeComplaint, describeOptOut, describeUntried, type ProviderReport } from './provider-report.ts'
import { describeSesBounce } from './ses-words.ts'
import { readSnsMessage } from './sns.ts'

const Header = z.object({ name: z.string(), value: Text })

const Mail = z.object({
  messageId: Text,
  source: Text,
  destination: z.array(Text).nullish().catch(null),
  headers: z.array(Header).nullish().catch(null),
  commonHeaders: z.object({ messageId: Text }).nullish().catch(null),
})

const Bounce = z.object({
  bounceType: Text,
  bounceSubType: Text,
  bouncedRecipients: z.array(z.object({ emailAddress: Text, action: Text, status: Text, diagnosticCode: Text })),
})

const Complaint = z.object({
  complainedRecipients: z.array(z.object({ emailAddress: Text })),
  complaintFeedbackType: Text,
  complaintSubType: Text,
})

/** The person changed its preferences on a page of Amazon SES. */
const Subscription = z.object({
  timestamp: Text,
  newTopicPreferences: z
    .object({ unsubscribeAll: z.boolean().nullish().catch(null) })
    .nullish()
    .catch(null),
})

/** Notifications have `notificationType`, events of a configuration set have `eventType`. */
const Notification = z.object({
  notificationType: Text,
  eventType: Text,
  mail: Mail.nullish(),
  bounce: Bounce.nullish(),
  complaint: Complaint.nullish(),
  subscription: Subscription.nullish().catch(null),
})
type Notification = z.output<typeof Notification>

export const readSesMessage: HookReader = async (request, context) => {
  const notification = await readSnsMessage(request, context)
  if (notification === undefined) return { reports: [] }
  // SES confirms a new destination with a text.
  const json = parseJson(notification)
  if (json === undefined) return { reports: [] }
  const { data } = Notification.safeParse(json)
  if (!data) throw malformedMessage('Amazon SES')
  return { reports: readReports(data) }
}

function readReports({
  notificationType,
  eventType,
  mail,
  bounce,
  complaint,
  subscription,
}: Notification): ProviderReport[] {
  const kind = notificationType ?? eventType
  const about = {
    recipientToken: findTokenOf(mail?.source),
    messageId: findMessageId(mail),
    providerMessageId: mail?.messageId ?? null,
  }
  if (kind === 'Bounce' && bounce) {
    const { bounceType, bounceSubType } = bounce
    const failed = bounce.bouncedRecipients.filter(({ action }) => action === null || action === 'failed')
    return failed.flatMap(({ emailAddress, status, diagnosticCode: response }) => {
      const detail = `${bounceType} ${bounceSubType}`
      const description = describeSesBounce({ bounceType, bounceSubType, status, response, detail })
      return description ? [{ email: readAddress(emailAddress), ...about, ...description }] : []
    })
  }
  const email = readAddress(mail?.destination?.join(', '))
  if (kind === 'Subscription' && subscription?.newTopicPreferences?.unsubscribeAll) {
    return [{ email, ...about, ...describeOptOut(subscription.timestamp) }]
  }
  if (kind !== 'Complaint' || !complaint || !isComplaint(complaint.complaintFeedbackType)) return []
  // Mailbox providers may hide who complained: the email says it.
  const named = complaint.complainedRecipients.map(({ emailAddress }) => readAddress(emailAddress))
  return (named.length > 0 ? named : [email]).map((address) => ({
    email: address,
    ...about,
    // SES did not try the address, because of a complaint about another email of the account.
    ...(complaint.complaintSubType === 'OnAccountSuppressionList'
      ? describeUntried(complaint.complaintSubType)
      : describeComplaint(complaint.complaintFeedbackType ?? undefined)),
  }))
}

/** The Message-ID that was sent to SES, if the notification includes the headers. SES replaces it in the email. */
function findMessageId(mail: z.output<typeof Mail> | null | undefined): string | null {
  const header = mail?.headers?.find(({ name }) => name.toLowerCase() === 'message-id')
  return header?.value ?? mail?.commonHeaders?.messageId ?? null
}
