/** Why a mail to a return path was ignored: for its lines and parts, or for the time or memory that reading it takes. */
export const ignoredReasons = ['structure', 'effort'] as const
export type IgnoredReason = (typeof ignoredReasons)[number]
