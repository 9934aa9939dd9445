import { z } from 'zod'
import { defaultRetention, type Retention } from '../../kernel/retention.ts'

const maxDays = 36_500
const message = `must be a whole number of days, up to ${maxDays}; 0 to keep records until they are deleted`
const atLeastOne = `must be a whole number of days from 1 to ${maxDays}`

const days = (defaultDays: number) =>
  z.coerce.number(message).int(message).min(0, message).max(maxDays, message).default(defaultDays)

/** Reports of mail providers may arrive weeks later, and find the contact of a complaint by the email. */
const minEmailDays = 30
const emailDays = `must be a whole number of days from ${minEmailDays} to ${maxDays}; 0 to keep records until they are deleted`
const isEmailRetention = (days: number) =>
  days === 0 || (Number.isInteger(days) && days >= minEmailDays && days <= maxDays)

export const retentionVariables = {
  RETENTION_SUBMISSIONS_DAYS: days(defaultRetention.submissionsDays),
  RETENTION_EVENTS_DAYS: z.coerce
    .number(atLeastOne)
    .int(atLeastOne)
    .min(1, atLeastOne)
    .max(maxDays, atLeastOne)
    .default(defaultRetention.eventsDays),
  RETENTION_AUDIT_DAYS: days(defaultRetention.auditDays),
  RETENTION_IMPORTS_DAYS: days(defaultRetention.importsDays),
  RETENTION_EMAILS_DAYS: z.coerce
    .number(emailDays)
    .refine(isEmailRetention, emailDays)
    .default(defaultRetention.emailsDays),
}

export function retentionFrom(config: Readonly<Record<keyof typeof retentionVariables, number>>): Retention {
  return {
    submissionsDays: config.RETENTION_SUBMISSIONS_DAYS,
    eventsDays: config.RETENTION_EVENTS_DAYS,
    auditDays: config.RETENTION_AUDIT_DAYS,
    importsDays: config.RETENTION_IMPORTS_DAYS,
    emailsDays: config.RETENTION_EMAILS_DAYS,
  }
}
