import { createDnsReader } from '@rapport/core/domains/dns.ts'
import type { CampaignId } from '@rapport/core/kernel/ids.ts'
import { readBulkMail } from '@rapport/core/operations/mail/read-bulk-mail.ts'
import { stopRenderingThread } from '@rapport/core/rendering/rendering.ts'
import { dkimKeyOf, inspectEnvironment } from '@rapport/core/runtime/config.ts'
import { z } from 'zod'
import type { CliContext } from '../../command.ts'
import { namingId, withOperator } from '../../database.ts'
import { dnsServersOf, type Finding } from '../finding.ts'
import { judgeMail } from './judge-mail.ts'
import { type Receiver, receivers } from './rules.ts'

/** Receivers, separated by commas. */
export const Receivers = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim().toLowerCase()))
  .pipe(z.array(z.enum(receivers, `must be one or more of ${receivers.join(', ')}, separated by commas`)))

/** Renders a campaign and judges it as the receivers do. Sends nothing. */
export async function judgeCampaign(
  cli: CliContext,
  { campaign, as, servers }: { campaign: CampaignId; as: readonly Receiver[]; servers: readonly string[] | undefined },
): Promise<Finding[]> {
  try {
    const mail = await withOperator(cli, (base) =>
      readBulkMail(base, campaign).catch(namingId(`Campaign ${campaign}`, 'rapport campaign status')),
    )
    const { config } = inspectEnvironment(cli.environment)
    const dns = createDnsReader(dnsServersOf({ config, dnsServers: servers }))
    return await judgeMail({ mail, dns, installationKey: dkimKeyOf(config) }, as)
  } finally {
    await stopRenderingThread()
  }
}
