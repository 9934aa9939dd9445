/** How many days records are kept; 0: until they are deleted. A worker deletes expired records every hour. */
export interface Retention {
  submissionsDays: number
  /** Events and deliveries are in weekly partitions, which are dropped within the following week. At least 1. */
  eventsDays: number
  auditDays: number
  /** Counted from the end of an import. */
  importsDays: number
  /** Counted from the end of an email from a template. */
  emailsDays: number
}

export const defaultRetention: Retention = {
  submissionsDays: 0,
  eventsDays: 30,
  auditDays: 365,
  importsDays: 90,
  emailsDays: 90,
}
