/**
 * What a file says about emails to a person. The words are those of Rapport and of other systems:
 *
 * | status       | meaning                                             | what the import does                            |
 * | ------------ | --------------------------------------------------- | ----------------------------------------------- |
 * | CONFIRMED    | the person consented                                | confirms, with a list and `consent=confirmed`   |
 * | PENDING      | the person was asked                                | subscribes as PENDING, without an email         |
 * | NONE         | a contact that receives no campaigns                | writes the contact alone                        |
 * | UNSUBSCRIBED | the person left the list                            | opt-out of the list; without one, as OPTED_OUT  |
 * | OPTED_OUT    | the person wants no email, or is on a blocklist     | suppression OPTED_OUT                           |
 * | MANUAL       | the operator of the other system blocked the person | suppression MANUAL                              |
 * | BOUNCED      | the address accepts no email                        | suppression BOUNCED                             |
 * | COMPLAINED   | the person reported an email as spam                | suppression COMPLAINED                          |
 */
import { type FileStatus, fileStatuses } from '../../db/schema/imports.ts'

/** A status that is recorded before any row of the file is written. */
export type OptOutStatus = Extract<FileStatus, 'UNSUBSCRIBED' | 'OPTED_OUT' | 'MANUAL' | 'BOUNCED' | 'COMPLAINED'>

const toWords = (text: string): readonly string[] => text.trim().split(/\s+/)

/** In lower case, without spaces, hyphens and underscores. */
const words: Readonly<Record<FileStatus, readonly string[]>> = {
  CONFIRMED: ['confirmed', 'subscribed', 'active', 'enabled', 'optedin', 'optin', 'accepted'],
  PENDING: ['pending', 'unconfirmed'],
  NONE: toWords(`
    none nonsubscribed notsubscribed neversubscribed transactional archived inactive deleted nonmarketingcontact`),
  UNSUBSCRIBED: ['unsubscribed', 'unsubscribe', 'unsubscribes', 'cancelled', 'canceled', 'rejected'],
  OPTED_OUT: toWords(`
    optedout optout blocklisted blacklisted blocklist blacklist donotcontact donotmail donotemail dnc
    unsubscribedviama unsubscribedviaemail unsubscribedviaapi globalunsubscribe`),
  MANUAL: ['manual', 'disabled', 'blocked', 'suppressed', 'manualsuppression', 'adminblocked'],
  BOUNCED: toWords(`
    bounced bounce bounces hardbounced hardbounce cleaned undeliverable unreachable invalid invalidemail`),
  COMPLAINED: toWords(`
    complained complaint complaints spam spamcomplaint spamreport spamreports abuse abusereport abusecomplaint
    spammed junk markedasspam contactflaggedasspam`),
}
const statusByWord = new Map(fileStatuses.flatMap((status) => words[status].map((word) => [word, status] as const)))

const toWord = (text: string) => text.toLowerCase().replaceAll(/[\s_-]/g, '')

/** Reads a word for a status. An empty cell says that the person is not subscribed; undefined for an unknown word. */
export function readStatusWord(text: string): FileStatus | undefined {
  const word = text.toLowerCase().replaceAll(/[\s_-]/g, '')
  return word === '' ? 'NONE' : statusByWord.get(word)
}

/** Words that speak of consent to emails in any column; the others can be about an order or an account. */
const unmistakable: readonly FileStatus[] = ['UNSUBSCRIBED', 'OPTED_OUT', 'BOUNCED', 'COMPLAINED']
const otherwise = ['cancelled', 'canceled', 'rejected', 'invalid', 'spam', 'junk', 'abuse', 'complaint', 'complaints']
const ofSubscribers = ['subscribed', 'nonsubscribed', 'notsubscribed', 'neversubscribed', 'optedin', 'optin']

/** Whether the value of any column says that a person wants emails or none. */
export function speaksOfConsent(text: string): boolean {
  const word = toWord(text)
  const status = statusByWord.get(word)
  return (
    ofSubscribers.includes(word) || (status !== undefined && unmistakable.includes(status) && !otherwise.includes(word))
  )
}

/** Names every known word. No message contains a value of the file. */
export const unknownStatus = `unknown status. Known words: ${[...statusByWord.keys()].join(', ')}`

const optOutStatuses: readonly FileStatus[] = ['UNSUBSCRIBED', 'OPTED_OUT', 'MANUAL', 'BOUNCED', 'COMPLAINED']
export const isOptOut = (status: FileStatus): status is OptOutStatus => optOutStatuses.includes(status)

/** Whether nothing in the row or the file speaks against the consent that the caller confirms. */
export const isConfirmation = (statuses: readonly FileStatus[]) => statuses.every((status) => status === 'CONFIRMED')

/** Whether the person was asked, and has not answered. */
export const isPending = (statuses: readonly FileStatus[]) =>
  statuses.includes('PENDING') && statuses.every((status) => status === 'CONFIRMED' || status === 'PENDING')
