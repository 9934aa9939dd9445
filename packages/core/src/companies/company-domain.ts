/**
 * The domain of a company. Public mail hosts such as `gmail.com` are the domain of many people and of no company: the list
 * is that of the package `free-email-domains`, 14,125 hosts of 2026-09-23.
 */
import publicMailHosts from 'free-email-domains/domains.json' with { type: 'json' }
import { DomainName } from '../domains/domain-name.ts'

let hosts: ReadonlySet<string> | undefined

function isPublicMailHost(domain: string): boolean {
  hosts ??= new Set(publicMailHosts)
  return hosts.has(domain)
}

export const CompanyDomain = DomainName.refine(
  (domain) => !isPublicMailHost(domain),
  'must be a domain of one company, not of a public mail host',
)
