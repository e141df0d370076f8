// localtext's part of the service worker, written by `localtext init`.
importScripts('localtext-sw-import.js');

chrome.sidePanel.setPanelBehavior({ openPanelOnActionClick: true });
