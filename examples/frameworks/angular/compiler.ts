import '@angular/compiler'
