/**
 * The types of feedback reports that are no complaint: `not-spam` takes a complaint back, and the others are about what a
 * server found in a message (RFC 5965, RFC 6591).
 */
const otherTypes: readonly string[] = ['auth-failure', 'not-spam', 'virus']

/** Whether a feedback report is the complaint of a recipient. An unknown type, or none, is one. */
export const isComplaint = (feedbackType: string | null | undefined): boolean =>
  !otherTypes.includes(feedbackType?.toLowerCase() ?? '')
