/** People with two addresses each, and what the mails to them contain. */
import type { ReceivedMail } from '@rapport/testing/network/receivers.ts'
import type { PersonLog, Request } from './log.ts'

interface ConfirmationLink {
  token: string
  list: string
  address: string
  mailedAt: number
}

interface NewsletterLinks {
  unsubscribe: string
  preferences: string
  messageId: string
  list: string
  address: string
  contactId: string
}

export interface Person {
  log: PersonLog
  addresses: [string, string]
  /** The contacts that were seen at the addresses. */
  contactIds: Set<string>
  confirmations: ConfirmationLink[]
  newsletters: NewsletterLinks[]
  undos: { token: string; list: string; address: string; of: Request }[]
  /** Whether several actors act for the person at once. */
  isCrowded: boolean
  /** The number of verbs under way, and of all. */
  acting: number
  verbs: number
}

export function createPerson(name: string, isCrowded: boolean): Person {
  const addresses: Person['addresses'] = [`${name}@a.example.com`, `${name}@b.example.com`]
  return {
    log: { name, addresses, requests: [], observations: [], statuses: [] },
    addresses,
    contactIds: new Set(),
    confirmations: [],
    newsletters: [],
    undos: [],
    isCrowded,
    acting: 0,
    verbs: 0,
  }
}

/** The content of the attack's campaigns: the judge needs to know whose mail it was. */
export const newsletterHtml = '<p>News for {{ contact.id }} of {{ list.id }}</p>'

/** Notes the links of a mail. Returns the list if it is a newsletter. */
export function readMail(person: Person, mail: ReceivedMail, lists: readonly { id: string; name: string }[]) {
  const address = mail.to[0] ?? ''
  const token = (path: string) => new RegExp(`/public/${path}\\?token=([\\w.-]+)`).exec(mail.text)?.[1] ?? ''
  const [, contactId = '', list = ''] = /News for (con_\w+) of (lst_\w+)/.exec(mail.text) ?? []
  if (list !== '') {
    const unsubscribe = /unsubscribe\?token=([\w.-]+)/.exec(mail.headers['list-unsubscribe'] ?? '')?.[1] ?? ''
    const messageId = mail.headers['message-id'] ?? ''
    person.newsletters.push({ unsubscribe, preferences: token('preferences'), messageId, list, address, contactId })
    person.contactIds.add(contactId)
    return list
  }
  const confirmation = token('subscriptions/confirm')
  const asked = lists.find(({ name }) => mail.text.includes(name))
  if (confirmation !== '' && asked)
    person.confirmations.push({ token: confirmation, list: asked.id, address, mailedAt: mail.receivedAt.getTime() })
  return undefined
}
