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
import type { FileStatus } from '../../db/schema/imports.ts'
import { keysByWord, toPlain, toWords } from './names.ts'

/** A status that is recorded before any row of the file is written. */
export type OptOutStatus = Extract<FileStatus, 'UNSUBSCRIBED' | 'OPTED_OUT' | 'MANUAL' | 'BOUNCED' | 'COMPLAINED'>

/** In lower case, without accents, spaces, hyphens and underscores. */
const english: Readonly<Record<FileStatus, string>> = {
  CONFIRMED: `confirmed subscribed active enabled optedin optin doubleoptin singleoptin accepted granted express softbounced
    softbounce softbounces`,
  PENDING: 'pending unconfirmed unactivated optinpending doubleoptinpending waitingforconfirmation',
  NONE: `none nonsubscribed notsubscribed neversubscribed transactional archived inactive deleted nonmarketingcontact
    implied nopermissionsset notset noconsent denied declined refused`,
  UNSUBSCRIBED: 'unsubscribed unsubscribe unsubscribes unsub cancelled canceled rejected',
  OPTED_OUT: `optedout optout blocklisted blacklisted blocklist blacklist donotcontact donotmail donotemail dnc
    unsubscribedviama unsubscribedviaemail unsubscribedviaapi globalunsubscribe withdrawn revoked`,
  MANUAL: 'manual disabled deactivated removed blocked suppressed manualsuppression adminblocked',
  BOUNCED: 'bounced bounce bounces hardbounced hardbounce cleaned undeliverable unreachable invalid invalidemail',
  COMPLAINED: `complained complaint complaints spam spamcomplaint spamreport spamreports abuse abusereport abusecomplaint
    spammed spammy junk markedasspam contactflaggedasspam feedbackloop fbl`,
}

/** The same in the other languages of Rapport, as exports and people write it. */
const translations: typeof english = {
  CONFIRMED: `bestatigt angemeldet aktiv abonniert confirme abonne inscrit actif confirmado suscrito activo confermato
    iscritto attivo inscrito ativo`,
  PENDING: 'unbestatigt ausstehend nonconfirme enattente noconfirmado pendiente nonconfermato inattesa pendente',
  NONE: `inaktiv nichtangemeldet inactif noninscrit inactivo nosuscrito inattivo noniscritto inativo naoinscrito`,
  UNSUBSCRIBED: `abgemeldet ausgetragen gekundigt desabonne desinscrit debaja dadodebaja dadadebaja desuscrito disiscritto
    disiscritta cancellato descadastrado descadastrada desinscrito cancelado`,
  OPTED_OUT: `widerspruch widerrufen nichtkontaktieren nichtanschreiben keinewerbung nepascontacter nocontactar
    noncontattare naocontatar`,
  MANUAL: 'gesperrt blockiert bloque bloqueado bloccato',
  BOUNCED: 'unzustellbar ungultig rebotado rebote rimbalzato respinto rejeitado',
  COMPLAINED: 'beschwerde spambeschwerde plainte denuncia denunciado segnalatocomespam',
}

const toWord = (plain: string) => plain.replaceAll(/[\s_-]/g, '')
const statusByWord = new Map([...keysByWord(english), ...keysByWord(translations)])

/** What people and programs write around such words, such as `Unsubscribed (2020)`. Only against emails. */
const phrases: readonly (readonly [RegExp, OptOutStatus])[] = [
  [/complain|abuse|spam.?(?:report|beschwerde)|marked as spam|feedback.?loop/, 'COMPLAINED'],
  [/unsubscri|\bopt(?:ed|ing)?[ _-]?out\b/, 'UNSUBSCRIBED'],
  [/\b(?:abgemeldet|ausgetragen|widerspr)/, 'UNSUBSCRIBED'],
  [/desabonn|desinscri|dad[oa] de baja|desuscri|disiscri|descadastr/, 'UNSUBSCRIBED'],
  [/(?<!\bde|soft[ _-]?)bounce/, 'BOUNCED'],
]
/** `Not bounced`, `0 complaints`. */
const negation = /(?:^|\W)(?:no|not|never|non|0|zero|kein\w*|nie|nicht|pas|jamais|nunca|mai|nao)(?:\W+\w+)?\W+$/
/** These are a negation themselves. */
const refusals =
  /\bdo not (?:e?mail|contact)\b|\bnicht (?:mehr )?anschreiben\b|^(?:please |bitte )?(?:no (?:more )?e-?mails?|keine? (?:weiteren )?(?:e-?mails?|newsletter))(?: mehr)?(?: please| bitte)?\W*$/

function findPhrase(plain: string): OptOutStatus | undefined {
  if (refusals.test(plain)) return 'UNSUBSCRIBED'
  for (const [pattern, status] of phrases) {
    const found = pattern.exec(plain)
    if (found && !negation.test(plain.slice(0, found.index))) return status
  }
  return undefined
}

/** Reads a word for a status. An empty cell says that the person is not subscribed; undefined for an unknown word. */
export function readStatusWord(text: string): FileStatus | undefined {
  const plain = toPlain(text)
  const word = toWord(plain)
  return word === '' ? 'NONE' : (statusByWord.get(word) ?? findPhrase(plain))
}

const ofAgreement = toWords(`
  subscribed optedin optin doubleoptin singleoptin angemeldet abonniert abonne inscrit suscrito iscritto inscrito`)

/** Whether the text is a word of a subscriber, which no column means of an opt-out. */
export const saysSubscribed = (text: string) => ofAgreement.includes(toWord(toPlain(text)))

/** Words that speak of consent to emails in any column; the others can be about an order or an account. */
const unmistakable: readonly FileStatus[] = ['UNSUBSCRIBED', 'OPTED_OUT', 'BOUNCED', 'COMPLAINED']
const otherwise = toWords(`
  cancelled canceled rejected invalid spam junk abuse complaint complaints withdrawn revoked cancellato cancelado
  gekundigt ungultig respinto rejeitado beschwerde plainte denuncia denunciado widerrufen softbounced softbounce`)
const ofSubscribers = ['subscribed', 'nonsubscribed', 'notsubscribed', 'neversubscribed', 'optedin', 'optin']

/** A longer text, or a link, has such words for other reasons. */
const maxRemarkLength = 80

/** Whether the value of any column says that a person wants emails or none. */
export function speaksOfConsent(text: string): boolean {
  if (text.length > maxRemarkLength || text.includes('://')) return false
  const plain = toPlain(text)
  const word = toWord(plain)
  const status = statusByWord.get(word)
  if (status !== undefined)
    return ofSubscribers.includes(word) || (unmistakable.includes(status) && !otherwise.includes(word))
  const phrase = findPhrase(plain)
  return phrase !== undefined && (phrase !== 'COMPLAINED' || plain.includes('spam'))
}

/** Names the English words. No message contains a value of the file. */
export const unknownStatus = `unknown status. Known words: ${Object.values(english).flatMap(toWords).join(', ')}`

const optOutStatuses: readonly FileStatus[] = ['UNSUBSCRIBED', 'OPTED_OUT', 'MANUAL', 'BOUNCED', 'COMPLAINED']
export const isOptOut = (status: FileStatus): status is OptOutStatus => optOutStatuses.includes(status)

/** Whether nothing in the row or the file speaks against the consent that the caller confirms. */
export const isConfirmation = (statuses: readonly FileStatus[]) => statuses.every((status) => status === 'CONFIRMED')

/** Whether the person was asked, and has not answered. */
export const isPending = (statuses: readonly FileStatus[]) =>
  statuses.includes('PENDING') && statuses.every((status) => status === 'CONFIRMED' || status === 'PENDING')
