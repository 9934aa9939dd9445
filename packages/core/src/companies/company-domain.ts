/**
 * The domain of a company. Public mail hosts such as `gmail.com` are the domain of many people and of no company: the list
 * is that of the package `free-email-domains`, 14,125 hosts of 2026-09-23, and of those below that it lacks.
 */
import publicMailHosts from 'free-email-domains/domains.json' with { type: 'json' }
import { DomainName } from '../domains/domain-name.ts'

/** Providers of mailboxes and of forwarding addresses, as of 2026-11-29. */
const furtherMailHosts = [
  'anonaddy.me',
  'bbox.fr',
  'chello.at',
  'disroot.org',
  'hey.com',
  'hispeed.ch',
  'keemail.me',
  'mailbox.org',
  'mozmail.com',
  'passmail.net',
  'privaterelay.appleid.com',
  'riseup.net',
  'slmail.me',
  'startmail.com',
  'talktalk.net',
  'tin.it',
  'tuta.com',
  'tutamail.com',
  'tutanota.com',
  'zohomail.eu',
]

let hosts: ReadonlySet<string> | undefined

/** Other names below a public mail host may be of companies: `acme.za.com` is registered below `za.com`. */
function isPublicMailHost(domain: string): boolean {
  hosts ??= new Set([...publicMailHosts, ...furtherMailHosts])
  return hosts.has(domain.replace(/^www\./, ''))
}

export const CompanyDomain = DomainName.refine(
  (domain) => !isPublicMailHost(domain),
  'must be a domain of one company, not of a public mail host',
)
