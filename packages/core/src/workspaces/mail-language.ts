import { eq } from 'drizzle-orm'
import { workspaces } from '../db/schema/index.ts'
import { chooseMailLanguage, type ChosenLanguage } from '../kernel/values/languages.ts'
import type { Mail } from '../mail/mails.ts'
import type { Ctx } from '../request/context.ts'

/** The language of a mail to a user: the one that the user asked for, then that of the workspace, then English. */
export async function readMailLanguage({ db, workspaceId }: Ctx, { data }: Mail): Promise<ChosenLanguage> {
  const [found] = await db.select({ locale: workspaces.locale }).from(workspaces).where(eq(workspaces.id, workspaceId))
  return chooseMailLanguage({ request: data.locale ?? null, workspace: found?.locale ?? null })
}
