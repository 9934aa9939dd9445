import type { Report } from './report.ts'
export const toChart = (_: Report) => ''
