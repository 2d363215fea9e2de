import { bootstrapApplication } from '@angular/platform-browser'
import { App } from './app'
import { appConfig } from './app.config'

await bootstrapApplication(App, appConfig)
