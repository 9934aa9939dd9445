import { type CampaignOverview, listCampaignOverviews } from '@rapport/core/operations/overviews/campaign-overview.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../command.ts'
import { withDatabaseOf } from '../database.ts'
import { IdOption } from '../id-option.ts'
import { formatAge, formatCount } from '../terminal.ts'

export const campaignStatus = defineCommand({
  positionals: ['campaign'],
  options: z.strictObject({
    campaign: IdOption('cmp')
      .optional()
      .meta(option('<campaign>', 'Id of a campaign in any status (default: all that are SENDING or PAUSED)')),
    workspace: IdOption('wsp').optional().meta(option('<wsp_…>', 'Only campaigns of this workspace (default: all)')),
    json: jsonFlag('Prints the campaigns as JSON'),
  }),
  notes: [
    'The rate is that of the last minute, and the remaining time follows from it. A campaign that a worker paused has a',
    'reason. The command connects to the database directly.',
  ].join('\n'),
  async run(cli, { campaign: campaignId, workspace: workspaceId, json }) {
    const campaigns = await withDatabaseOf(cli, workspaceId, (db) =>
      listCampaignOverviews(db, { campaignId, workspaceId }),
    )
    if (campaignId && campaigns.length === 0)
      throw new AppError(
        'not_found',
        `Campaign ${campaignId} not found. "rapport campaign status" lists those in progress.`,
      )
    cli.terminal.print(json ? JSON.stringify({ data: campaigns }) : format(campaigns))
    return exitCodes.success
  },
})

function format(campaigns: readonly CampaignOverview[]): string {
  return campaigns.map(formatCampaign).join('\n\n') || 'No campaign is SENDING or PAUSED.'
}

function formatCampaign(campaign: CampaignOverview): string {
  const { queued, pending, recipientsPerMinute: rate, remainingSeconds } = campaign
  const counts = (['sent', 'failed', 'skipped', 'interrupted', 'pending'] as const).map(
    (name) => `${formatCount(campaign[name])} ${name}`,
  )
  const rows = [
    ['Campaign', `${campaign.id} "${campaign.name}"`],
    ['Workspace', campaign.workspaceId],
    ['Status', campaign.pauseReason === null ? campaign.status : `${campaign.status}: ${campaign.pauseReason}`],
    ['Recipients', `${formatCount(queued - pending)} of ${formatCount(queued)}: ${counts.join(', ')}`],
    ...(campaign.status === 'SENDING' ? [['Rate', `${formatCount(rate)} per minute`]] : []),
    ...(remainingSeconds === null ? [] : [['Remaining', `about ${formatAge(remainingSeconds)}`]]),
    ...(campaign.sentAt === null ? [] : [['Started', campaign.sentAt]]),
    ...(campaign.completedAt === null ? [] : [['Completed', campaign.completedAt]]),
  ]
  return rows.map(([label = '', value]) => `${label.padEnd(10)}  ${value}`).join('\n')
}
