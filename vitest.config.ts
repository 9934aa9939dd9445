// `npx vitest` and editor plugins expect this file name; the configuration is in vitest.workspace.ts.
export { default } from './vitest.workspace.ts'
