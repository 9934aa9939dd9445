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

/** Amazon SES names at most 50 recipients. A longer list is malformed, before its items are read. */
const maxItems = 100
/** Mailbox providers hide recipients: then there are none, or the array is missing. */
const listOf = <Item extends z.ZodType>(item: Item, max = maxItems) =>
  z
    .unknown()
    .optional()
    .refine((list) => !Array.isArray(list) || list.length <= max, { abort: true })
    .pipe(z.array(item).nullish().catch(null))

const Header = z.object({ name: z.string(), value: Text })
/** An email that was forwarded many times has hundreds. */
const maxHeaders = 1_000

const Mail = z.object({
  messageId: Text,
  source: Text,
  destination: listOf(Text),
  headers: listOf(Header, maxHeaders),
  commonHeaders: z.object({ messageId: Text }).nullish().catch(null),
})

const Bounce = z.object({
  bounceType: Text,
  bounceSubType: Text,
  bouncedRecipients: listOf(z.object({ emailAddress: Text, action: Text, status: Text, diagnosticCode: Text })),
})

const Complaint = z.object({
  complainedRecipients: listOf(z.object({ emailAddress: Text })),
  complaintFeedbackType: Text,
  complaintSubType: Text,
})

const Preferences = z
  .object({
    unsubscribeAll: z.boolean().nullish().catch(null),
    topicSubscriptionStatus: listOf(z.object({ topicName: Text, subscriptionStatus: Text })),
  })
  .nullish()
  .catch(null)

/** The person changed its preferences by the link or the header of Amazon SES. */
const Subscription = z.object({
  timestamp: Text,
  source: Text,
  newTopicPreferences: Preferences,
  oldTopicPreferences: Preferences,
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
  const destination = mail?.destination?.join(', ') ?? null
  const about = {
    recipientToken: findTokenOf(mail?.source),
    messageId: findMessageId(mail),
    providerMessageId: mail?.messageId ?? null,
  }
  if (kind === 'Bounce' && bounce) {
    const { bounceType, bounceSubType } = bounce
    const unnamed = { emailAddress: destination, action: null, status: null, diagnosticCode: null }
    const recipients = bounce.bouncedRecipients?.length ? bounce.bouncedRecipients : [unnamed]
    const failed = recipients.filter(({ action }) => action === null || /^fail/i.test(action))
    return failed.flatMap(({ emailAddress, status, diagnosticCode: response }) => {
      const detail = `${bounceType} ${bounceSubType}`
      const description = describeSesBounce({ bounceType, bounceSubType, status, response, detail })
      return description ? [{ email: readAddress(emailAddress), ...about, ...description }] : []
    })
  }
  const email = readAddress(destination)
  if (kind === 'Subscription' && subscription && hasOptedOut(subscription)) {
    return [{ email, ...about, ...describeOptOut(subscription.timestamp) }]
  }
  if (kind !== 'Complaint' || !complaint || !isComplaint(complaint.complaintFeedbackType)) return []
  // Mailbox providers may hide who complained: the email says it.
  const named = (complaint.complainedRecipients ?? []).map(({ emailAddress }) => readAddress(emailAddress))
  return (named.some((address) => address !== null) ? named : [email]).map((address) => ({
    email: address,
    ...about,
    // SES did not try the address, because of a complaint about another email of the account.
    ...(complaint.complaintSubType === 'OnAccountSuppressionList'
      ? describeUntried(complaint.complaintSubType)
      : describeComplaint(complaint.complaintFeedbackType ?? undefined)),
  }))
}

/**
 * The person left everything, or a topic that it was on before. If the message does not say what was before, a topic that is
 * out counts only if none is in, or if the header of an email was used: else the person may have joined another one.
 */
function hasOptedOut(subscription: z.output<typeof Subscription>): boolean {
  const { newTopicPreferences: now, oldTopicPreferences: before, source } = subscription
  const topics = (preferences: typeof now, status: string) =>
    (preferences?.topicSubscriptionStatus ?? [])
      .filter(({ subscriptionStatus }) => subscriptionStatus === status)
      .map(({ topicName }) => topicName)
  const out = topics(now, 'OptOut')
  if (now?.unsubscribeAll) return true
  if (before) return out.some((topic) => !topics(before, 'OptOut').includes(topic))
  return out.length > 0 && (topics(now, 'OptIn').length === 0 || source === 'UnsubscribeHeader')
}

/** The Message-ID that was sent to SES, if the notification includes the headers. SES replaces it in the email. */
function findMessageId(mail: z.output<typeof Mail> | null | undefined): string | null {
  const header = mail?.headers?.find(({ name }) => name.toLowerCase() === 'message-id')
  return header?.value ?? mail?.commonHeaders?.messageId ?? null
}
