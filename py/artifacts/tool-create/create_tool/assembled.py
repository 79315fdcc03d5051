"""The starters' components, deflated, in base64. Made by wasm-tools from `starters` and the WIT:

    MURMUR_WRITE_STARTERS=1 pytest py/artifacts/tool-create/tests/test_starters.py

A test makes them anew and compares.
"""

import base64
import zlib

_DEFLATED = {
    "tool": (
        "eNp90t1u0zAUB/D/sZ04izvafXQfGkiZxm3HhAQSu6G5QYIbrrhmps1Yt6YJjgvsKrwAD8ML8GrDabs201KiKLH8"
        "dXx+PtBFugkC/SW4JgGgHXYhSvdQeeGX5bzFOQN53E30JZUU/wqUfMX9NEkzc8vQGugvo88m0eNxNgAO06lx77nN"
        "svELM530z05fnp6duBYo/MTeECtPEMvr+Oe3YxGJiF8/h+u4u+PXcef7W9wce5EX44PoR14fcflO9KFUJNQh4k6E"
        "cyDejeg1Q3wQseoHJX9TkHI/10WRDP1LPRonQy8xJjM3hWFiqK2mYJx97eXaXpFhYZoMR7pnb/OkEFVfkbGiyEXO"
        "jfQLq+20gCymaarNLc2Xb1Tf+foN63IZaJsMyyBNrK5GPKWt1YOrNJnYwmeisvRbBEZYOMkW9ckbTfKpZZD+GXPY"
        "/7Nyow9gA1XtyTnc3oH4I7C4PNllyySxTBLhU8LeKM0zY2d59qoQvVl4DpL71OwVHhC268vmGhxcHvEZktfE9yja"
        "SoNDyvcsD5ay4l4W8zOvZNEk69dlN8JnhP1HaZmkmI5dpPABsgp3Ce3F5Eu3cc/tTq21uSt3X4sz8s0Hru2la1t1"
        "CGHNsuMmNlbUbGKNYRvyo5gJ7uY7S4wn9xjteaAVRrsJo1vH2FNbBFUH2EcNYAsHytUMr5IG0aH3wxWQ98hjbZWw"
        "xjpYd8t87a1IdUToNha6B/wDsKI/aQ=="
    ),
    "hook": (
        "eNrFWOuOHEcVPqeru6une2bvXq/jjb2+kIvJ2DsOwThLkl0uQYCEUCQuCSAynil7e+fSnaoe7w5CWX7xEoiHQQiB"
        "EAgh8j+PwCOE09XdM9U7VxNHaa1mpqpPfXVO1anvO7XQVL0aIODvHaCfCAD4vvehfU4Pnn9o6U//fPSMWx/TQy1M"
        "u4K0rfsKi49/O7L3dLd+wwIf0GK2Y7vAHUbTupwAjn7nBfwPLHB7ohfJoQXVVvNR+Gspmt1u1AK43RtI+nvzOIo6"
        "97rhY9EatrricP/uw7v7t6J+XSXNJwLwtUVmQqkwM5cJWK8uME+aqpPbslcW2Ib9x0KKfkuAvcg0iaJuvUWRgbMw"
        "rmNBZu4iR1tRL262EgoN+MvLBCX6bfDuLLlaqXHFP/YfonV+C474ydHZRzfsPXuPndwG6vjsM3ZytPb0HejccPac"
        "I/iBfbjnHMLR+bv2IQTBnh3YcARLf/D/uts9a1WKuNtsCYqtn4izpKqEaBeNjuqAdGwZdYXiuq+fKCtsY0VFA0mD"
        "6GcQ9pWQCQ16NLSkFTwK+005rPebPWNMzGL7I273o74AuDglOrB6KsNE1HvNPi2PShS64FE6hI9ptVFBIEUUi2xN"
        "qVnykUbbbdEfUn+spEMJHatBV2QOrBatp0Kma6z8YrHDtnJ6UVt0VTqCDkE3TEKhPImBToZ6eiJOPcm53kgy9/MJ"
        "099uFr+i4ONBQpEnQp3WHg3aT0RCedcRfXW6Utifhv12dHpajWUYyeKttEbAgTgLkzT/k4FS0rOTgewPqxlybl2L"
        "BonR9NqiFep4KjrJ01jRjSWlZ4JuZotO+kqhZNV8cOZl0B7IZprC9Z46dfNZOyu0zXreMWA5OEc3FCcsOgViVboV"
        "7XaL1vA3BNOmFyr9FlKqatbOh1az3mnzd9Ylz+Z1s7xJU6ZHadBWdlM+eeq5qiXDNChJEccCi/k3pOORi4roSDkr"
        "xabmy1NJjqVQx1G3Pcj2GGtqqBLRq+dLJHmQREmzW0+nVsONrFFa8c2sr7zua/mogljUcD3ryVIm6yoFWNpby05Z"
        "360iWAg5BfN16wQ5qkN0xFM6Kj5suwcWacOSXEyGJQ73gnQOxoDmusx9PETWSs4qhHofU+Nnom4NZmVgO7yKhZMB"
        "wd3TcMtTu8ZiGdYVA6tGWHc11tLUr6HsDOoFA2ptaajRDmooJ4O6akBtEtQdXGob0q3XMG4Gs2vAbC29UGNp0Vg8"
        "w3rRwKoSVl1jLSs9GsnLkK4ZSJcIaV8jPYM0abBKBnbd/vQFyOsZvmER75ZYE/wXKfnCXhxJOjrDWGS5WteTM0B+"
        "0+qoBdLj36LoTYgR+2q5IafIE75vdZxpAsXGAsVMgXL9KwibJmxOIgw4v2rF3iwB869T1prjdAYVesXA58KKg9kS"
        "V5mUuOryElcZSdzEyqY7l7MUg5pmk5Uxm1iwmka8lY94POi36gV14Br/Nn5uwQT/Bp2c0l7nA3LnGayPaGiD3CHz"
        "3YvumJyDm/wD/MJk1785nj7bxxFBFem5VTopq/618c4XDo8H4TZ/D/9vzWa5ZrNcs1mm2WxiTUfUVzh52XByh5yk"
        "tNi54ORoDF7hLy1XBqSx7kxkeS65jLj2datz9RkrhV1/F2F7AjSPwyS4a9PjGHE1Xuffw+dTd0wc54y9RpHu8QOr"
        "c2N+bQJ5bcLy2oQVEd+cpD+Nnod8ywj59ozzmdrjV/jbaJQ5lYVlDiuXOWwi2cciUzjzkuHMy9OTfTwIX+FXcFbh"
        "6u+RGE+cLBKOYqpXjanu0FS740UqnSsagl/lZ19WkTYhPIYGFqG8ZoRSp1Cuj0O/yGlpNHf5Hi6Qu+AywvqkxN0D"
        "fp/RLWx/msg1xiLXMEXuflAjWS6E7XXQmzZd1oJNhFpZyt4A/oTFX4u/PlvMHkyK2TeWF7MHIzEL1hECU8AeAv+u"
        "9RxucQfBJYTVi0L0TeBrWK5UDrQLZnXyNnyR8hNsI6xNSM4hzDlXwRbCyoWz9C34PKrTyFWnkatOI1Odhl60i0rz"
        "HVhWPIINuoqUBONd4G9Ynb/CMyrG3yBYQ/ANmfg+PDfm1xlfZvsfAn/L6vwD5tP9QU73jZzuG4W7/8zy2OT4H0GZ"
        "uh8spO5GmbobOlEm6PrH8OXxomaoSS58L70AnOCb45rzHfhEb6A3KjQB8Sc8yGvAt9LXOxTdROFHz0/5yohY/wSp"
        "JeVkrVxxWYg/M8z+os3okFRLNQ9D/Llh9XfTalxR2IjvG1b/AtN3LcIO4geGxb9NpwxldBF/YZj9WZtRqgWmqnHE"
        "XxpG/9FGtNErF/TCQ/yV80eH7ls70yv3BRU0zqlXrdllIptdednTKxRnTq3gzhR3Pk8rvZn3Rn/RdXDqvY7NubXZ"
        "M29SfO6NpjL/BhHMLd1rswvslVll8tqcWnV9ZqW5Ob/225pXrVUXlECXgvSKMue/Bw7A/wAo7dkJ"
    ),
}


def component_of(starter: str) -> bytes:
    """The component of `tool` or `hook`."""
    return zlib.decompress(base64.b64decode(_DEFLATED[starter]))
