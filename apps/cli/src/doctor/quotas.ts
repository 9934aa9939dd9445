import { findQuotasNearLimit } from '@rapport/core/operations/overviews/find-quotas-near-limit.ts'
import type { ApiConfig } from '@rapport/core/runtime/config.ts'
import { quotasFrom, quotaVariables } from '@rapport/core/runtime/variables/quota-variables.ts'
import { formatCount } from '../terminal.ts'
import { type Check, findingsAbout } from './finding.ts'

const { ok, warn } = findingsAbout('Quotas')
const threshold = { minShare: 0.9, timeoutMs: 2_000 }
const maxListed = 5

export const quotasCheck: Check = {
  about: 'Quotas',
  async run({ database, config, invalid }) {
    if (!database || Object.keys(quotaVariables).some((name) => invalid.has(name))) return []
    const { data, isIncomplete } = await findQuotasNearLimit(database.db, quotasFrom(config as ApiConfig), threshold)
    const findings = data
      .slice(0, maxListed)
      .map(({ workspaceId, name, quota, used, limit }) =>
        warn(
          `${workspaceId} "${name}" uses ${formatCount(used)} of ${formatCount(limit)} ${quota}`,
          `To raise the quota: rapport workspace set-quota ${workspaceId} ${quota}=<limit>`,
        ),
      )
    if (data.length > maxListed) {
      findings.push(warn('more workspaces are near a quota', '"rapport workspace show" shows one of them.'))
    }
    if (isIncomplete) return [...findings, ok('some are unknown: counting takes longer than two seconds')]
    return findings.length > 0 ? findings : [ok('no workspace uses 90 % of a quota')]
  },
}
