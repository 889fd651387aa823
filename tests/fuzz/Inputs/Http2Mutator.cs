namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Changes frames of HTTP/2: their order, types, flags, streams, headers and payloads. Lengths are
/// mostly written anew, so that the change is read.</summary>
internal sealed class Http2Mutator : IMutator
{
    private static readonly string[] Paths =
    [
        "/fuzzed.Shop/Echo", "/fuzzed.Shop/Split", "/fuzzed.Shop/Join", "/fuzzed.Shop/Chat",
        "/fuzzed.Shop/Unhandled",
        "/fuzzed.Shop/Nope", "/FUZZED.shop/ECHO", "/", "", "*", "/fuzzed.Shop", "/fuzzed.Shop/Echo?x=1",
        "/\u00e9",
        "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "/ProtoRpc.Ping/Ping",
    ];

    private static readonly (string Name, string Value)[] Headers =
    [
        (":method", "POST"), (":method", "GET"), (":method", "CONNECT"), (":scheme", "https"), (":path",
        "/x"),
        (":authority", "evil.example"), (":status", "200"), (":nope", "x"), ("Upper", "x"), ("", "x"),
        ("host", "x"),
        ("connection", "close"), ("transfer-encoding", "chunked"), ("content-length", "0"),
        ("content-length", "9999"),
        ("content-type", "application/grpc+json"), ("content-type", "application/json"), ("content-type", ""),
        ("content-type", "application/grpc; x=y"), ("content-type", "application/grpc-web"), ("te",
        "trailers"),
        ("te", "gzip"), ("grpc-timeout", "10S"), ("grpc-timeout", "1n"), ("grpc-timeout", "99999999H"),
        ("grpc-timeout", "x"), ("grpc-timeout", "-1S"), ("grpc-encoding", "gzip"), ("grpc-encoding", "nope"),
        ("grpc-accept-encoding", "gzip,identity,,nope"), ("grpc-status", "5"), ("x-bin", "AAEC,AAE"),
        ("x-bin", "*"),
        ("grpc-previous-rpc-attempts", "9"), ("x", "\0"), ("x", "a\r\nb"), ("x\n", "y"), ("cookie", "a"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), ("authorization",
        "Basic x"),
        ("user-agent", "grpc-c/1.0"), ("protorpc-correlation-id", "x"), ("x-long", new string('x', 4000)),
    ];

    public byte[] Change(Random random, byte[] input, IReadOnlyList<byte[]> others)
    {
        List<Http2Frame> frames = Http2Frame.Split(input, out int rest);
        if (frames.Count == 0 || random.Next(6) == 0)
        {
            return ByteMutator.Instance.Change(random, input, others);
        }

        int at = random.Next(frames.Count);
        Http2Frame frame = frames[at];
        switch (random.Next(13))
        {
            case 0:
                frames.RemoveAt(at);
                break;
            case 1:
                frames.InsertRange(at, Enumerable.Repeat(frame, random.Next(1, 4)));
                break;
            case 2:
                frames[at] = frame with { Flags = (byte)(frame.Flags ^ (1 << random.Next(8))) };
                break;
            case 3:
                frames[at] = frame with { Type = (byte)random.Next(random.Next(4) == 0 ? 256 : 11) };
                break;
            case 4:
                frames[at] = frame with
                {
                    Stream = random.Next(8) == 0 ? (uint)random.Next() : (uint)random.Next(8),
                };
                break;
            case 5:
                frames[at] = frame with
                {
                    Payload = ByteMutator.Instance.Change(random, frame.Payload, []),
                };
                break;
            case 6:
                int cut = random.Next(frame.Payload.Length + 1);
                byte type = frame.Type == Http2Frame.Head ? Http2Frame.Continuation : frame.Type;
                frames[at] = frame with
                {
                    Payload = frame.Payload[..cut],
                    Flags = (byte)(frame.Flags & ~Http2Frame.EndHeaders),
                };
                frames.Insert(at + 1, new Http2Frame(
                    type, (byte)(frame.Flags & Http2Frame.EndHeaders), frame.Stream, frame.Payload[cut..]));
                break;
            case 7:
                frames.Insert(at, Control(random, frame.Stream));
                break;
            case 8:
                // Opened and reset at once, again and again.
                uint stream = Math.Min(frames.Max(f => f.Stream), 1_000_000) | 1;
                for (int i = random.Next(random.Next(8) == 0 ? 200 : 8); i >= 0; i--)
                {
                    stream += 2;
                    frames.Add(Http2Frame.OfHeaders(stream, Http2Frame.EndHeaders, Request(random)));
                    frames.Add(new Http2Frame(Http2Frame.Reset, 0, stream, [0, 0, 0, 8]));
                }

                break;
            case 9:
                frames.InsertRange(at + 1, Enumerable.Repeat(
                    new Http2Frame(Http2Frame.Continuation, 0, frame.Stream, [0, 1, (byte)'x', 1, (byte)'y']),
                    random.Next(random.Next(8) == 0 ? 300 : 4)));
                break;
            case 10:
                int other = random.Next(frames.Count);
                (frames[at], frames[other]) = (frames[other], frames[at]);
                break;
            case 11 when others.Count > 0:
                frames.AddRange(Http2Frame.Split(others[random.Next(others.Count)], out _));
                break;
            default:
                frames[at] = Http2Frame.OfHeaders(
                    frame.Stream, (byte)(Http2Frame.EndHeaders | (frame.Flags & Http2Frame.EndStream)),
                    Request(random));
                break;
        }

        return [.. Http2Frame.Join(frames), .. input.AsSpan(input.Length - rest)];
    }

    /// <summary>The headers of a call of a method, mostly good ones.</summary>
    public static List<(string Name, string Value)> RequestTo(string path) =>
    [
        (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
        ("content-type", "application/grpc"), ("te", "trailers"),
    ];

    private static List<(string Name, string Value)> Request(Random random)
    {
        List<(string Name, string Value)> headers = RequestTo(
            Paths[random.Next(2) == 0 ? random.Next(4) : random.Next(Paths.Length)]);
        for (int i = random.Next(3); i > 0; i--)
        {
            (string Name, string Value) header = Headers[random.Next(Headers.Length)];
            int same = headers.FindIndex(h => h.Name == header.Name);
            if (same >= 0 && random.Next(3) > 0)
            {
                headers[same] = header;
            }
            else
            {
                headers.Insert(random.Next(headers.Count + 1), header);
            }
        }

        if (random.Next(16) == 0)
        {
            headers.RemoveAt(random.Next(headers.Count));
        }

        return headers;
    }

    private static Http2Frame Control(Random random, uint stream)
    {
        byte[] number = [(byte)random.Next(256), 0, 0, (byte)random.Next(256)];
        return random.Next(7) switch
        {
            0 => new Http2Frame(Http2Frame.Ping, (byte)random.Next(2), 0, new byte[8]),
            1 => new Http2Frame(
                Http2Frame.Settings, (byte)random.Next(2), 0, [0, (byte)random.Next(1, 9), .. number]),
            2 => new Http2Frame(Http2Frame.WindowUpdate, 0, random.Next(2) == 0 ? 0 : stream, number),
            3 => new Http2Frame(Http2Frame.GoAway, 0, 0, [0, 0, 0, 1, .. number]),
            4 => new Http2Frame(Http2Frame.Reset, 0, stream, number),
            5 => new Http2Frame(2, 0, stream, [.. number, 16]),
            _ => new Http2Frame(5, Http2Frame.EndHeaders, stream, [0, 0, 0, 2, 0x82]),
        };
    }
}
