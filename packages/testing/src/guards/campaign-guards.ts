import type { TestedGuard } from './tested-guard.ts'

const core = 'packages/core/src'
const api = 'apps/api/src'
const lifecycle = `${core}/campaigns/lifecycle.ts`
const lifecycleTest = `${core}/campaigns/lifecycle.int.test.ts`

/** Who is mailed, once, and with which outcome. */
export const campaignGuards: readonly TestedGuard[] = [
  {
    promise: 'campaigns',
    name: 'a campaign is sent twice',
    file: `${core}/campaigns/send-campaign.ts`,
    search: ".where(and(byId(campaigns, ctx, id), eq(campaigns.status, 'DRAFT')))",
    replacement: '.where(byId(campaigns, ctx, id))',
    tests: [`${core}/campaigns/campaigns.int.test.ts`, `${api}/routes/campaign-sending.int.test.ts`],
  },
  {
    promise: 'campaigns',
    name: 'a campaign that changed while it was checked is sent',
    file: `${core}/campaigns/send-campaign.ts`,
    search: "      throw conflict('wrong_state', 'The campaign was changed while it was checked')\n",
    replacement: '      await Promise.resolve()\n',
    tests: [`${core}/campaigns/campaigns.int.test.ts`, `${core}/campaigns/campaign-content.int.test.ts`],
  },
  {
    promise: 'campaigns',
    name: 'pending and unsubscribed contacts are recipients',
    file: `${core}/campaigns/send-campaign.ts`,
    search: " and ${isMailable('s')}\n",
    replacement: '\n',
    tests: [`${core}/campaigns/campaigns.int.test.ts`, `${api}/routes/campaign-sending.int.test.ts`],
  },
  {
    promise: 'campaigns',
    name: 'a group does not renew the claim',
    file: `${core}/campaigns/sending-statements.ts`,
    search: 'update work w set ${renewClaim(param.token)}',
    replacement: 'update work w set token = coalesce(token, ${param.token})',
    tests: [`${core}/campaigns/sending.int.test.ts`],
  },
  {
    promise: 'campaigns',
    name: 'recipients are not locked before their counters change',
    file: `${core}/campaigns/sending-statements.ts`,
    search: '      for update of r),',
    replacement: '      ),',
    tests: [`${core}/campaigns/sending.int.test.ts`, `${core}/campaigns/sending-statements.int.test.ts`],
  },
  {
    promise: 'campaigns',
    name: 'the outcome of a mail is not recorded after recovery',
    file: `${core}/mail/mails.ts`,
    search: "inArray(mails.status, ['PENDING', 'INTERRUPTED'])",
    replacement: "inArray(mails.status, ['PENDING'])",
    tests: [`${core}/mail/mails.int.test.ts`],
  },
  {
    promise: 'campaigns',
    name: 'a retry sends again to recipients who may have got the mail',
    file: lifecycle,
    search: "? ['FAILED' as const, 'INTERRUPTED' as const] : ['FAILED' as const]",
    replacement: "? ['FAILED' as const, 'INTERRUPTED' as const] : ['FAILED' as const, 'INTERRUPTED' as const]",
    tests: [lifecycleTest],
  },
  {
    promise: 'campaigns',
    name: 'two retries count the same recipients',
    file: `${core}/campaigns/campaigns.ts`,
    search: "    .for('no key update')\n  if (!row) throw notFound('Campaign')",
    replacement: "  if (!row) throw notFound('Campaign')",
    tests: [lifecycleTest],
  },
  {
    promise: 'campaigns',
    name: 'a canceled campaign is resumed',
    file: lifecycle,
    search: "    requireStatus(campaign, ['PAUSED'], 'resumed')\n",
    replacement: '',
    tests: [lifecycleTest],
  },
]
