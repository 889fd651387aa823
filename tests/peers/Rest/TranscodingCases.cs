namespace ProtoRpc.Peers.Rest;

/// <summary>Requests that our listener and JsonTranscoding get.</summary>
internal static class TranscodingCases
{
    /// <summary>Requests that both answer alike.</summary>
    public static string[] Same { get; } =
    [
        "GET /",
        "GET /v1/shelves/a",
        "GET /V1/Shelves/A",
        "GET /v1/shelves/a/",
        "GET /v1/shelves/a%20b",
        "GET /v1/shelves/a+b",
        "GET /v1/shelves/a:b",
        "GET /v1/shelves/gr%C3%BC%C3%9F%F0%9F%98%80",
        "GET /v1/shelves/mine",
        "GET /v1/shelves/mine?name=x",
        "DELETE /v1/shelves/mine",
        "DELETE /v1/shelves/a?number=3",
        "GET /v1/shelves",
        "GET /v1/shelves/",
        "GET /v1/shelves?page_token=x&number=5",
        "GET /v1/shelves?pageToken=x",
        "GET /v1/shelves?unknown=x&inner.unknown=y&name.x=z",
        "GET /v1/shelves?name=a%20b%2Bc+d%26e",
        "GET /v1/shelves?numbers=1&numbers=2&tags=a&tags=b",
        "GET /v1/shelves?inner.name=x&inner.inner.number=2&inner.tags=a&inner.tags=b",
        "GET /v1/shelves?color=RED",
        "GET /v1/shelves?color=2",
        "GET /v1/shelves?colors=GREEN&colors=1",
        "GET /v1/shelves?color=BLUE",
        "GET /v1/shelves?flag=true",
        "GET /v1/shelves?flag=False",
        "GET /v1/shelves?flag=yes",
        "GET /v1/shelves?ratio=1.5&single=-2.25",
        "GET /v1/shelves?ratio=1e3&single=NaN",
        "GET /v1/shelves?ratio=x",
        "GET /v1/shelves?number=-5&big=-9223372036854775808&positive=5&huge=18446744073709551615",
        "GET /v1/shelves?number=3000000000",
        "GET /v1/shelves?number=1.5",
        "GET /v1/shelves?number=",
        "GET /v1/shelves?number",
        "GET /v1/shelves?number=x",
        "GET /v1/shelves?number=1&number=2",
        "GET /v1/shelves?positive=-1",
        "GET /v1/shelves?data=aGk=",
        "GET /v1/shelves?data=%21",
        "GET /v1/shelves?time=2024-02-29T12:30:00.5Z&pause=1.5s",
        "GET /v1/shelves?time=2024-02-29T12:30:00%2B02:00",
        "GET /v1/shelves?time=now",
        "GET /v1/shelves?pause=1",
        "GET /v1/shelves?mask=name",
        "GET /v1/shelves?mask=display_name,number",
        "GET /v1/shelves?maybe_number=5&maybeText=x",
        "GET /v1/shelves?maybe=&maybe_text=",
        "GET /v1/shelves?left=a",
        "GET /v1/shelves?inner=x",
        "GET /v1/shelves?inners=x",
        "GET /v1/shelves?inners.name=x",
        "GET /v1/shelves?labels=x",
        "GET /v1/shelves?labels.key=x",
        "GET /v1/shelves?struct=x",
        "POST /v1/shelves {\"name\":\"x\",\"number\":5}",
        "POST /v1/shelves?number=7 {\"name\":\"x\"}",
        "POST /v1/shelves {}",
        "POST /v1/shelves {",
        "POST /v1/shelves []",
        "POST /v1/shelves {\"number\":\"x\"}",
        "GET /v1/shelves/1/books/2",
        "GET /v1/shelves/1/books/a%20b",
        "GET /v1/shelves/a%2Fb/books/2",
        "GET /v1/shelves/1/books/",
        "POST /v1/shelves/1/books/2:archive {\"number\":3}",
        "PATCH /v1/shelves/1/books/2?number=4 {\"number\":3}",
        "PUT /v1/books/2/7 {\"tags\":[\"a\"]}",
        "PUT /v1/books/2/x {}",
        "GET /v1/files/a",
        "GET /v1/files/a/b%20c?number=1",
        "GET /v1/files/a/stat",
        "POST /v1/files/a/b:undelete",
        "GET /v1/any/x/end",
        "GET /v1/any//end",
        "GET /v1/typed/number/5",
        "GET /v1/typed/number/x",
        "GET /v1/typed/big/-9223372036854775808",
        "GET /v1/typed/ratio/1.5",
        "GET /v1/typed/flag/true",
        "GET /v1/typed/data/aGk=",
        "GET /v1/typed/color/RED",
        "GET /v1/typed/color/1",
        "GET /v1/typed/color/BLUE",
        "GET /v1/typed/time/2024-01-01T00:00:00Z",
        "GET /v1/typed/pause/1.5s",
        "GET /v1/typed/mask/a,b",
        "GET /v1/typed/maybe/0",
        "GET /v1/typed/left/x",
        "PUT /v1/tags [\"a\",\"b\"]",
        "PUT /v1/tags [1]",
        "PUT /v1/labels/n {\"a\":\"b\"}",
        "PUT /v1/inners [{\"name\":\"a\"},{}]",
        "GET /v1/tags?tags=a&tags=b",
        "GET /v1/tags",
        "GET /v1/request?name=x",
        "GET /v1/fail/5",
        "GET /v1/fail/7",
        "GET /v1/fail/8",
        "GET /v1/fail/12",
        "GET /v1/fail/14",
        "GET /v1/fail/16",
        "PURGE /v1/cache/x",
        "GET /v1/cache/x",
        "GET /v1/watch/2/tags",
        "GET /v1/nothing",
        "POST /v1/upload/a text/plain|hello",
        "GET /v1/download/hello",
        "GET /v1/shelves/a%252Fb",
        "GET /v1/shelves/%25",
        "GET /v1/shelves/%6dine",
        "GET /v1/shelves?number=%205",
        "GET /v1/shelves?ratio=Infinity",
        "GET /v1/shelves?tags=",
        "GET /v1/shelves?maybe_number=",
        "GET /v1/shelves?time.seconds=5",
        "GET /v1/shelves?time=2024-02-29T12:30:00.5z",
        "GET /v1/shelves?pause=1.5",
        "GET /v1/typed/maybe/7?maybeNumber=8",
        "GET /v1/typed/maybe/7?maybe_number=8",
        "POST /v1/shelves {\"color\":1}",
        "POST /v1/shelves {\"left\":\"a\",\"right\":\"b\"}",
        "POST /v1/shelves {\"labels\":{\"a\":null}}",
        "POST /v1/shelves null",
        "POST /v1/shelves/1/books/2:archive {\"name\":\"x\"}",
        "POST /v1/shelves/1/books/2:Archive {}",
        "GET /v1/shelves/1/books/2:archive",
        "PATCH /v1/shelves/1/books/2?inner.number=9&number=4 {}",
        "PUT /v1/tags {\"tags\":[\"a\"]}",
        "PUT /v1/inners [null]",
        "GET /v1/files",
        "GET /v1/files/",
        "GET /v1/files/a/",
        "GET /v1/files/a%2Fb/c",
        "GET /v1/files//a",
        "GET /v1/files/stat/stat",
        "GET /v1/files/../shelves/mine",
        "GET /v1/files/%2e%2e/shelves/mine",
        "POST /v1/files/:undelete",
        "GET /v1/any/x%2Fy/end",
        "GET /v1/shelves/a/b/c/d/e",
        "GET /v1/fail/2",
        "GET /v1/fail/3",
        "GET /v1/fail/4",
        "GET /v1/fail/6",
        "GET /v1/fail/10",
        "GET /v1/fail/11",
        "GET /v1/fail/13",
        "GET /v1/fail/99",
        "GET /v1/watch/2",
        "GET /v1/download/",
        "GET /v1/download/gr%C3%BC%C3%9F",
        "POST /v1/upload/a",
        "POST /v1/upload/a application/json|{}",
        "POST /v1/upload/a?file.data=eA== text/plain|x",
    ];

    /// <summary>Requests that they answer in different ways: ours, theirs, and why.</summary>
    public static TheoryData<string, string, string, string> Different { get; } = new()
    {
        {
            "GET /v1/shelves/a%2Fb",
            "200 {\"method\":\"GetShelf\",\"request\":{\"name\":\"a/b\"}}",
            "200 {\"method\":\"GetShelf\",\"request\":{\"name\":\"a%2Fb\"}}",
            "http.proto: a variable of one segment decodes %2F; ASP.NET Core keeps it"
        },
        {
            "GET /v1/shelves/%zz",
            "400",
            "200 {\"method\":\"GetShelf\",\"request\":{\"name\":\"%zz\"}}",
            "wrong percent codes are an error, not text"
        },
        {
            "GET /v1/shelves/%C0%AF",
            "400",
            "200 {\"method\":\"GetShelf\",\"request\":{\"name\":\"%C0%AF\"}}",
            "wrong percent codes are an error, not text"
        },
        {
            "GET /v1/shelves?flag=1",
            "200 {\"method\":\"ListShelves\",\"request\":{\"flag\":true}}",
            "400",
            "0 and 1 are also values of a bool"
        },
        {
            "GET /v1/shelves?number=1e3",
            "200 {\"method\":\"ListShelves\",\"request\":{\"number\":1000}}",
            "400",
            "ProtoJSON has these forms of numbers"
        },
        {
            "GET /v1/shelves?ratio=1,000",
            "400",
            "200 {\"method\":\"ListShelves\",\"request\":{\"ratio\":1000}}",
            "numbers have no thousands separators"
        },
        {
            "GET /v1/shelves?ratio=1e400",
            "400",
            "200 {\"method\":\"ListShelves\",\"request\":{\"ratio\":\"Infinity\"}}",
            "a number that does not fit is an error"
        },
        {
            "GET /v1/shelves?color=7",
            "200 {\"method\":\"ListShelves\",\"request\":{\"color\":7}}",
            "400",
            "open enums have unknown numbers"
        },
        {
            "GET /v1/shelves?color=red",
            "200 {\"method\":\"ListShelves\",\"request\":{\"color\":\"RED\"}}",
            "400",
            "names of enums are read in any case"
        },
        {
            "GET /v1/shelves?data=-_8",
            "200 {\"method\":\"ListShelves\",\"request\":{\"data\":\"+/8=\"}}",
            "400",
            "ProtoJSON has both alphabets of base64"
        },
        {
            "GET /v1/shelves?mask=displayName",
            "200 {\"method\":\"ListShelves\",\"request\":{\"mask\":\"displayName\"}}",
            "500",
            "ProtoJSON writes paths in lowerCamelCase; JsonTranscoding fails when it writes the reply"
        },
        {
            "GET /v1/shelves?Number=5",
            "200 {\"method\":\"ListShelves\",\"request\":{\"number\":5}}",
            "200 {\"method\":\"ListShelves\",\"request\":{}}",
            "names of fields are found in any case"
        },
        {
            "GET /v1/shelves?left=a&right=b",
            "400",
            "200 {\"method\":\"ListShelves\",\"request\":{\"right\":\"b\"}}",
            "two members of a oneof are an error"
        },
        {
            "GET /v1/shelves?number=1&Number=2",
            "400",
            "200 {\"method\":\"ListShelves\",\"request\":{}}",
            "a field that occurs twice is an error, by any of its names"
        },
        {
            "GET /v1/shelves?page_token=a&pageToken=b",
            "400",
            "200 {\"method\":\"ListShelves\",\"request\":{\"pageToken\":\"b\"}}",
            "a field that occurs twice is an error, by any of its names"
        },
        {
            "GET /v1/shelves?page_token=%zz",
            "400",
            "200 {\"method\":\"ListShelves\",\"request\":{\"pageToken\":\"%zz\"}}",
            "wrong percent codes are an error, not text"
        },
        {
            "GET /v1/shelves?page_token=%C0%AF",
            "400",
            "200 {\"method\":\"ListShelves\",\"request\":{\"pageToken\":\"%C0%AF\"}}",
            "wrong percent codes are an error, not text"
        },
        {
            "GET /v1/typed/mask/aB",
            "200 {\"method\":\"Typed\",\"request\":{\"mask\":\"aB\"}}",
            "500",
            "ProtoJSON writes paths in lowerCamelCase; JsonTranscoding fails when it writes the reply"
        },
        {
            "GET /v1/typed/color/7",
            "200 {\"method\":\"Typed\",\"request\":{\"color\":7}}",
            "400",
            "open enums have unknown numbers"
        },
        {
            "GET /v1/typed/color/green",
            "200 {\"method\":\"Typed\",\"request\":{\"color\":\"GREEN\"}}",
            "400",
            "names of enums are read in any case"
        },
        {
            "GET /v1/typed/flag/1",
            "200 {\"method\":\"Typed\",\"request\":{\"flag\":true}}",
            "400",
            "0 and 1 are also values of a bool"
        },
        {
            "GET /v1/typed/left/x?right=y",
            "400",
            "200 {\"method\":\"Typed\",\"request\":{\"right\":\"y\"}}",
            "two members of a oneof are an error"
        },
        {
            "POST /v1/shelves",
            "200 {\"method\":\"CreateShelf\",\"request\":{}}",
            "400",
            "no body is an empty message"
        },
        { "POST /v1/shelves text/plain|{}", "415", "400", "a media type that is not supported is 415" },
        {
            "POST /v1/shelves application/merge-patch+json|{}",
            "415",
            "200 {\"method\":\"CreateShelf\",\"request\":{}}",
            "media types that end in +json are not supported"
        },
        {
            "POST /v1/shelves application/x-protobuf|",
            "200 {\"method\":\"CreateShelf\",\"request\":{}}",
            "400",
            "bodies have all formats of the listener"
        },
        {
            "POST /v1/shelves text/xml|<x><name>a</name></x>",
            "200 {\"method\":\"CreateShelf\",\"request\":{\"name\":\"a\"}}",
            "400",
            "bodies have all formats of the listener"
        },
        {
            "POST /v1/shelves {\"nam\":\"x\"}",
            "400",
            "200 {\"method\":\"CreateShelf\",\"request\":{}}",
            "unknown names in JSON are an error, as in all bodies"
        },
        {
            "POST /v1/shelves {\"name\":\"a\",\"name\":\"b\"}",
            "400",
            "200 {\"method\":\"CreateShelf\",\"request\":{\"name\":\"b\"}}",
            "duplicate names in JSON are an error"
        },
        {
            "POST /v1/shelves {\"color\":\"RED\",\"color\":1}",
            "400",
            "200 {\"method\":\"CreateShelf\",\"request\":{\"color\":\"RED\"}}",
            "duplicate names in JSON are an error"
        },
        {
            "POST /v1/shelves {\"number\":\"5\"}",
            "200 {\"method\":\"CreateShelf\",\"request\":{\"number\":5}}",
            "400",
            "ProtoJSON has these forms of numbers"
        },
        {
            "POST /v1/shelves {\"number\":5.0}",
            "200 {\"method\":\"CreateShelf\",\"request\":{\"number\":5}}",
            "400",
            "ProtoJSON has these forms of numbers"
        },
        {
            "POST /v1/shelves/1/books/2%3Aarchive {}",
            "405 GET,PATCH",
            "200 {\"method\":\"ArchiveBook\",\"request\":{\"name\":\"shelves/1/books/2\"}}",
            "an encoded colon is a part of the segment, and begins no verb"
        },
        {
            "POST /v1/shelves/1/books/2:archive",
            "200 {\"method\":\"ArchiveBook\",\"request\":{\"name\":\"shelves/1/books/2\"}}",
            "400",
            "no body is an empty message"
        },
        {
            "PATCH /v1/shelves/1/books/2 null",
            "200 {\"method\":\"UpdateBook\",\"request\":{\"inner\":{\"name\":\"shelves/1/books/2\"}}}",
            "400",
            "null leaves out a field"
        },
        {
            "PUT /v1/tags null",
            "200 {\"method\":\"SetTags\",\"request\":{}}",
            "400",
            "null leaves out a field"
        },
        {
            "PUT /v1/tags",
            "200 {\"method\":\"SetTags\",\"request\":{}}",
            "400",
            "no body is an empty message"
        },
        {
            "PUT /v1/labels/n {\"a\":\"b\",\"a\":\"c\"}",
            "400",
            "200 {\"method\":\"SetLabels\",\"request\":{\"name\":\"n\",\"labels\":{\"a\":\"c\"}}}",
            "duplicate names in JSON are an error"
        },
        {
            "GET /v1/files/stat",
            "200 {\"method\":\"StatFile\",\"request\":{\"name\":\"files\"}}",
            "200 {\"method\":\"ReadFile\",\"request\":{\"name\":\"stat\"}}",
            "** also matches zero segments between others"
        },
        {
            "POST /v1/files/a",
            "405 GET",
            "404",
            "JsonTranscoding maps paths of all gRPC methods, so it finds no other method of HTTP"
        },
        {
            "purge /v1/cache/x",
            "405 PURGE",
            "200 {\"method\":\"Purge\",\"request\":{\"name\":\"x\"}}",
            "methods of HTTP are case-sensitive"
        },
        {
            "DELETE /v1/tags",
            "405 GET,PUT",
            "404",
            "JsonTranscoding maps paths of all gRPC methods, so it finds no other method of HTTP"
        },
        {
            "POST /v1/tags {}",
            "405 GET,PUT",
            "404",
            "JsonTranscoding maps paths of all gRPC methods, so it finds no other method of HTTP"
        },
        { "GET /v1/fail/1", "499", "408", "Cancelled is 499 in the listener" },
        { "GET /v1/watch/0", "200 ", "200  ", "a stream without parts has a content type, too" },
        {
            "GET /v1/parts/0",
            "200 application/octet-stream ",
            "200  ",
            "a stream without parts has a content type, too"
        },
        {
            "GET /rest.Library/GetShelf?name=x",
            "200 text/xml <root><method>GetShelf</method><request><name>x</name></request></root>",
            "404",
            "the listener also has paths for all methods by their names"
        },
        {
            "POST /rest.Library/GetShelf {\"name\":\"x\"}",
            "200 {\"method\":\"GetShelf\",\"request\":{\"name\":\"x\"}}",
            "415",
            "the listener also has paths for all methods by their names"
        },
        { "HEAD /v1/shelves/a", "200 ", "405 DELETE,GET", "HEAD is answered as GET" },
        { "OPTIONS /v1/shelves/a", "204", "405 DELETE,GET", "OPTIONS lists the methods" },
        {
            "POST /v1/shelves/1/books/2:other {}",
            "405 GET,PATCH",
            "404",
            "JsonTranscoding maps paths of all gRPC methods, so it finds no other method of HTTP"
        },
        {
            "PUT /v1/shelves {}",
            "405 GET,POST",
            "404",
            "JsonTranscoding maps paths of all gRPC methods, so it finds no other method of HTTP"
        },
        {
            "GET /v1/parts/2",
            "200 text/x-parts 1;2;",
            "200 text/x-parts 1;\n2;\n",
            "JsonTranscoding writes a line break behind each part, which changes the bytes"
        },
    };
}
