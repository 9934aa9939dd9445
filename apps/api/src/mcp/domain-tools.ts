import { Domain } from '@rapport/core/domains/domains.schema.ts'
import { listDomains } from '@rapport/core/domains/domains.ts'
import { verifyDomain } from '@rapport/core/domains/verify-domain.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { z } from 'zod'
import { defineTool, newestFirst, pageInput, reads } from './tool.ts'

const domains = defineTool({
  name: 'list_domains',
  operations: ['domains.list'],
  title: 'List sending domains',
  description:
    'Returns the domains that the workspace sends from, newest first, with the DNS records to publish and what the last check found wrong with each.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject(pageInput),
  output: PageOf(Domain),
  run: (ctx, input) => listDomains(ctx, { ...input, ...newestFirst }),
})

const verifyDomainDescription =
  'Reads the records of a domain from DNS now, and returns the domain with the results. A domain is VERIFIED once ' +
  'the first DKIM record is found: its emails are signed from then on. FAILED means that the record is missing or ' +
  'different now. Publish missing records at the DNS provider of the domain; no tool can.'

const verify = defineTool({
  name: 'verify_domain',
  operations: ['domains.verify'],
  title: 'Check the records of a sending domain',
  description: verifyDomainDescription,
  role: 'ADMIN',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({ domainId: Id('dom') }),
  output: z.object({ domain: Domain }),
  run: async (ctx, { domainId }) => ({ domain: await verifyDomain(ctx, domainId) }),
})

export const domainTools = [domains, verify]
