import { createTestCampaign, createTestCtx, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { newId } from '@rapport/core/kernel/ids.ts'
import { expect, test } from 'vitest'
import { parseCommandLine } from '../../command-line.ts'
import { commands } from '../../commands.ts'
import { startInProcess, unreachableEnvironment } from '../../testing.ts'
import type { Finding } from '../finding.ts'

const database = useTestDatabase()
const dns = useForFile(() => startNameServer({ denyUnknown: true }))

async function judge(...words: string[]) {
  const parsed = await parseCommandLine(commands, ['doctor', ...words, '--json'])
  if ('print' in parsed) throw new Error(parsed.print)
  const environment = {
    ...unreachableEnvironment,
    DATABASE_URL: database.url,
    PUBLIC_URL: 'https://crm.example.com',
    DNS_SERVER: dns.address,
  }
  const { printed, code } = startInProcess(parsed.command, parsed.options, { environment })
  return { code: await code, findings: (JSON.parse(printed.join('')) as { findings: Finding[] }).findings }
}

test('judges the mail of a campaign of any workspace with the records that DNS has', async () => {
  dns.setTextRecords('news.example.com', 'v=spf1 -all')
  dns.setTextRecords('_dmarc.example.com', 'v=DMARC1; p=reject')
  const ctx = await createTestCtx(database.db, { settings: testSettings })
  const { id } = await createTestCampaign(ctx, { html: '<a href="http://example.com">Read</a>', confirmed: 1 })
  const { code, findings } = await judge('--as', 'gmail,Microsoft', id)
  expect(code).toBe(0)
  const levelOf = (about: string) => findings.find((finding) => finding.about === about)?.level
  expect(['From', 'SPF', 'DMARC', 'Alignment', 'Links'].map((about) => levelOf(`Gmail: ${about}`))).toEqual([
    'ok',
    'ok',
    'ok',
    'ok',
    'warn',
  ])
  expect(levelOf('Microsoft: SPF')).toBe('ok')
  dns.setTextRecords('news.example.com')
  expect((await judge('--as', 'yahoo', id)).code).toBe(1)
})

test('--as needs a campaign that exists, and receivers that are known', async () => {
  await expect(judge('--as', 'gmail')).rejects.toThrow('--as: needs the id of a campaign')
  await expect(judge(newId('cmp'))).rejects.toThrow('--as: needs the id of a campaign')
  await expect(judge('--as', 'aol', newId('cmp'))).rejects.toThrow('must be one or more of gmail, yahoo, microsoft')
  await expect(judge('--as', 'gmail', newId('cmp'))).rejects.toThrow('"rapport campaign status" lists the ids')
})
