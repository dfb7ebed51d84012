"""A page in a headless Chromium, with what went wrong in it."""

from axe_playwright_python.sync_playwright import Axe

from steps import expect


class Chromium:
    """One context of a browser, and its page."""

    def __init__(self, playwright, width, height, patience, pictures):
        """Waits up to `patience` milliseconds for what a step looks for. Screenshots go to the folder `pictures`."""
        self.browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        print(f"# Chromium {self.browser.version}")
        self.context = self.browser.new_context(
            locale="en-GB", timezone_id="Europe/Berlin", viewport={"width": width, "height": height})
        self.patience, self.pictures = patience, pictures
        # The page's errors, and the addresses it asked.
        self.said, self.asked = [], []

    def open(self):
        self.page = self.context.new_page()
        self.page.set_default_timeout(self.patience)
        self.page.on("console", lambda message: self.said.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        return self.page

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def picture(self, name):
        if self.pictures:
            self.pictures.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(self.pictures / f"{name}.png"), full_page=True)

    def looks(self, name):
        """Takes screenshots at the size of a desktop and of a phone, in light and dark colours: NAME-phone-dark.png."""
        size = self.page.viewport_size
        for device, (width, height) in {"desktop": (1280, 800), "phone": (390, 844)}.items():
            self.page.set_viewport_size({"width": width, "height": height})
            for scheme in ("dark", "light"):
                self.page.emulate_media(color_scheme=scheme)
                self.picture(f"{name}-{device}-{scheme}")
        self.page.set_viewport_size(size)

    def accessible(self, name):
        """Expects that axe-core finds nothing, in light and dark colours."""
        is_dark = self.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            found = Axe().run(self.page).response["violations"]
            expect(not found, f"axe-core, {name}, {scheme}: " + "; ".join(f"{one['id']} at {one['nodes'][0]['target']}" for one in found))
        self.page.emulate_media(color_scheme="dark" if is_dark else "light")
