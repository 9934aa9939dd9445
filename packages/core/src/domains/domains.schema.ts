import { z } from 'zod'
import { domainStatuses } from '../db/schema/index.ts'
import { defineEvent } from '../events/event-definition.ts'
import { RecordId } from '../kernel/ids.ts'
import { CreatedAt } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { DomainName } from './domain-name.ts'
import { HostName } from './hosts/host-name.ts'

export const DomainRecord = z
  .object({
    purpose: z
      .enum(['DKIM', 'RETURN_PATH', 'DMARC', 'HOST'])
      .describe(
        '`DKIM`: a key that verifies signatures. `RETURN_PATH`: the address that bounces are sent to. `DMARC`: what receivers do with emails that are not authenticated. `HOST`: leads the host of the public pages to this installation.',
      ),
    type: z.enum(['TXT', 'CNAME']).describe('The type of the DNS record.'),
    name: z.string().describe('The full name of the record.'),
    value: z
      .string()
      .describe(
        'The value to publish. For DMARC, any valid record is accepted. For HOST, the same addresses are accepted too: the name of the domain itself cannot have a CNAME.',
      ),
    status: z
      .enum(domainStatuses)
      .describe(
        '`PENDING`: not checked yet, or not found. `VERIFIED`: found. `FAILED`: found with another value, or more than once.',
      ),
    problem: z
      .string()
      .nullable()
      .describe('What the last check found to be wrong. `null` if nothing was, or before the first check.'),
  })
  .meta({
    id: 'DomainRecord',
    description: 'A DNS record of a sending domain.',
    examples: [
      {
        purpose: 'DKIM',
        type: 'TXT',
        name: 'rp1-2t4w6x8y0z1b._domainkey.example.com',
        value: 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A',
        status: 'VERIFIED',
        problem: null,
      },
    ],
  })
export type DomainRecord = z.output<typeof DomainRecord>

export const Domain = z
  .object({
    id: RecordId('dom'),
    name: z.string().describe('The domain, in lower case and ASCII.'),
    host: z
      .string()
      .nullable()
      .describe(
        'The host of the public pages and of the links in emails, in lower case and ASCII. `null`: the host of the installation. It is used while the domain and its HOST record are VERIFIED.',
      ),
    status: z
      .enum(domainStatuses)
      .describe(
        '`PENDING`: the DKIM record of the signing key was never found. `VERIFIED`: it was found; emails from the domain are signed with the key. `FAILED`: it was found before, but is missing or different now.',
      ),
    records: z
      .array(DomainRecord)
      .describe(
        'The records to publish. DKIM: the key that signs, the next one, and for seven days after a rotation the former one.',
      ),
    checkedAt: Timestamp.nullable().describe('When the records were last checked. `null` before the first check.'),
    createdAt: CreatedAt,
  })
  .meta({
    id: 'Domain',
    description: 'A domain that the workspace sends from, with the DNS records that authenticate its emails.',
    examples: [
      {
        id: 'dom_01kag7m3v9e8fs2t4w6x8y0z1b',
        name: 'example.com',
        host: null,
        status: 'VERIFIED',
        records: [
          {
            purpose: 'DKIM',
            type: 'TXT',
            name: 'rp1-2t4w6x8y0z1b._domainkey.example.com',
            value: 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A',
            status: 'VERIFIED',
            problem: null,
          },
        ],
        checkedAt: '2026-11-21T06:40:12.345Z',
        createdAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Domain = z.output<typeof Domain>

const Host = HostName.nullable().describe(
  'The host of the public pages and of the links in emails: the domain or a name below it. `null`: the host of the installation, which is the default.',
)

export const DomainInput = z
  .strictObject({
    name: DomainName.describe('The domain after the `@` of the sender. An international domain is converted to ASCII.'),
    host: Host.optional(),
  })
  .meta({ id: 'DomainCreate', description: 'A new sending domain.', examples: [{ name: 'example.com' }] })
export type DomainInput = z.output<typeof DomainInput>

export const DomainChange = z
  .strictObject({ host: Host.optional() })
  .meta({ id: 'DomainUpdate', description: 'A change of a sending domain.', examples: [{ host: 'news.example.com' }] })
export type DomainChange = z.output<typeof DomainChange>

export const DomainQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type DomainQuery = z.output<typeof DomainQuery>

export const domainVerified = defineEvent('domain.verified', Domain)
export const domainFailed = defineEvent('domain.failed', Domain, { status: 'FAILED' })
