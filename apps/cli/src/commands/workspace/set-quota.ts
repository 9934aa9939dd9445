import { IdOption } from '../../id-option.ts'
import { type QuotaName, quotaNames } from '@rapport/core/kernel/quotas.ts'
import { withSuggestion } from '@rapport/core/kernel/suggestion.ts'
import { setQuotas } from '@rapport/core/workspaces/set-quotas.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'

/** For example `contacts=1000`; `contacts=default` is null. */
const QuotaAssignment = z.string().transform((text, check): [QuotaName, number | null] => {
  const [, typed = '', value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? []
  const name = quotaNames.find((one) => one === typed)
  const fail = (message: string) => {
    check.addIssue({ code: 'custom', message })
    return z.NEVER
  }
  if (!text.includes('=')) return fail(`"${text}" is not of the form <name>=<limit>`)
  if (!name) return fail(withSuggestion(`unknown quota "${typed}"`, typed, quotaNames))
  if (value === 'default') return [name, null]
  const limit = /^\d{1,15}$/.test(value) ? Number(value) : NaN
  return Number.isNaN(limit) ? fail(`${name}: must be a whole number, or "default"; 0 for no limit`) : [name, limit]
})

export const workspaceSetQuota = defineCommand({
  positionals: ['workspace', 'quotas'],
  isLastRepeated: true,
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<workspace>', 'Id of the workspace')),
    quotas: z
      .array(QuotaAssignment)
      .meta(option('<quotas>', 'One or more of <name>=<limit>; 0: no limit, "default": as for the installation')),
    json: jsonFlag('Prints the quotas that were set as JSON; null: as for the installation'),
  }),
  notes: [
    `Quotas: ${quotaNames.slice(0, 9).join(', ')},`,
    `${quotaNames.slice(9).join(', ')}.`,
    'Example: rapport workspace set-quota wsp_… contacts=100000 campaignMails=5000. The other quotas stay unchanged. The',
    'command connects to the database directly and is recorded in the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace, quotas, json }) {
    await withWorkspace(cli, workspace, (ctx) => setQuotas(ctx, Object.fromEntries(quotas)))
    if (json) cli.terminal.print(JSON.stringify({ workspaceId: workspace, quotas: Object.fromEntries(quotas) }))
    for (const [name, limit] of quotas) cli.terminal.log(`${name}: ${describeLimit(limit)}`)
    return exitCodes.success
  },
})

const describeLimit = (limit: number | null) =>
  limit === null ? 'as for the installation' : limit === 0 ? 'no limit' : `at most ${limit}`
