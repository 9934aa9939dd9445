/** A sending domain with its records in the DNS of a test, and what receivers make of its emails. */
import { judgeMail } from '@rapport/testing/network/judge-mail.ts'
import type { NameServer } from '@rapport/testing/network/name-server.ts'
import type { ReceivedMail } from '@rapport/testing/network/receivers.ts'
import { expect } from 'vitest'
import type { Api } from './stack.ts'

interface Domain {
  id: string
  status: string
  records: { type: 'TXT' | 'CNAME'; name: string; value: string }[]
}

/** Adds a domain, publishes its records, verifies it, and sends from it. */
export async function sendFromOwnDomain({ api, key, dns }: { api: Api; key: string; dns: NameServer }, name: string) {
  const added = await api.call<Domain>('POST', '/domains', { key, body: { name } })
  for (const record of added.body.records) {
    if (record.type === 'TXT') dns.setTextRecords(record.name, record.value)
    else dns.setAlias(record.name, record.value)
  }
  const verified = await api.call<Domain>('POST', `/domains/${added.body.id}/verify`, { key })
  expect(verified.body).toMatchObject({ status: 'VERIFIED' })
  const changed = await api.call('PATCH', '/workspace', { key, body: { fromEmail: `hello@${name}` } })
  expect(changed.status).toBe(200)
}

/** Judges mails as a receiving server does. */
export function judgeMails(mails: readonly ReceivedMail[], dns: NameServer) {
  return Promise.all(
    mails.map(async ({ raw, subject, from }) => {
      const { dkim, dmarc, signedBy } = await judgeMail(raw, { dns, sender: from })
      return { subject, dkim, dmarc, domain: signedBy?.domain }
    }),
  )
}
