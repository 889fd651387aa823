using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols.Rest;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Templates of paths and the paths that they make. The first line of an input is a path, the second
/// one has the values of variables, and each other one is the template of a method.</summary>
internal sealed class RestTarget : FuzzTarget
{
    // The extension google.api.http, and 'get' of its rule.
    private const int RuleNumber = 72295728;
    private const int GetNumber = 2;

    public override string Name => "rest";

    public override string Promise =>
        "a path that a template builds from values matches its rule, and has the same values";

    public override IMutator Mutator { get; } = new TextMutator(
        "/", "*", "**", "{a}", "{b=*}", "{c=x/*}", "{m.a=**}", ":verb", "%2F", "%2f", "%25", "%3A", "+", "//",
        "\n", "\n/", "\t", "/{a=**}/x", "{", "}", "=");

    public override int MaxLength => 4 * 1024;

    public override IEnumerable<byte[]> Seeds() =>
    [
        "/v1/shelves/1/books/2\ns\tb\n/v1/{a=shelves/*}/books/{b}\n/v1/{a=**}:archive\n/v1/x"u8.ToArray(),
        "/a%2Fb:go\nx/y\tz\n/{m.a}\n/{a=*/**}/end:go\n/**"u8.ToArray(),
        "/\n\n/\n/{a}/{b}/{c}/{m.b=x/*/y}\n/*/z"u8.ToArray(),
    ];

    public override IEnumerable<GrowingInput> Growing()
    {
        foreach (string piece in new[] { "/", "/a", "/%41", ":", "/a:b", "%", "/.." })
        {
            yield return new($"a path of {piece}", n => Encoding.UTF8.GetBytes(
                $"{string.Concat(Enumerable.Repeat(piece, n))}\nx\n/a/**\n/**/a\n/{{a=**}}:b\n/*/a/*"),
                65_536);
        }

        yield return new("many templates", n => Encoding.UTF8.GetBytes(
            $"/a/b\nx\n{string.Concat(Enumerable.Range(0, n).Select(i => $"/a/{{a}}/{i}\n"))}"), 4_096);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        string[] lines = Encoding.UTF8.GetString(input).Split('\n');
        string[] values = lines.Length > 1 ? lines[1].Split('\t') : [];
        RpcSchema? schema = null;
        if (!Accepts(() => schema = SchemaOf(lines.Skip(2))))
        {
            return false;
        }

        List<string> problems = [];
        RestRoutes routes =
            RestRoutes.Create(schema!.Services.SelectMany(service => service.Methods), problems);
        Require(!problems.Any(text => text.Any(char.IsControl)), "what is told has no control characters");
        RestMatch? found = null;
        meter.Measure(() => found = routes.Find("GET", RestPath.Parse(lines[0]), new HashSet<string>()));
        for (int i = 0; i < found?.Binding.Template.Variables.Count; i++)
        {
            _ = found[i];
        }

        bool isMade = false;
        foreach (RestBinding binding in routes.Bindings)
        {
            int next = 0;
            List<string> given = [];
            string? path = binding.Template.Expand(
                _ =>
                {
                    given.Add(values.Length == 0 ? "" : values[next++ % values.Length]);
                    return given[^1];
                },
                out _);
            if (path is null)
            {
                continue;
            }

            isMade = true;
            Require(path.All(c => c is > ' ' and < '\x7F'), $"a path is ASCII: {path}");
            RestMatch match = RestRoutes.Create([binding.Method], [])
                .Find("GET", RestPath.Parse(path), new HashSet<string>())
                ?? throw new InvariantException($"{binding.Template} makes {path}, and does not match it");
            Require(match.Binding.Template.Text == binding.Template.Text, "the method has one rule");
            for (int i = 0; i < given.Count; i++)
            {
                Require(match[i] == given[i], $"{path} gives '{given[i]}' again, and not '{match[i]}'");
            }
        }

        return isMade;
    }

    private static RpcSchema SchemaOf(IEnumerable<string> templates)
    {
        DescriptorProto message = new() { Name = "M" };
        message.Field.AddRange("abc".Select((name, i) => new FieldDescriptorProto
        {
            Name = $"{name}",
            JsonName = $"{name}",
            Number = i + 1,
            Type = FieldDescriptorProto.Types.Type.String,
            Label = FieldDescriptorProto.Types.Label.Optional,
        }));
        message.Field.Add(new FieldDescriptorProto
        {
            Name = "m",
            JsonName = "m",
            Number = 4,
            Type = FieldDescriptorProto.Types.Type.Message,
            TypeName = ".M",
            Label = FieldDescriptorProto.Types.Label.Optional,
        });
        ServiceDescriptorProto service = new() { Name = "S" };
        service.Method.AddRange(templates.Select((template, i) => new MethodDescriptorProto
        {
            Name = $"M{i}",
            InputType = ".M",
            OutputType = ".M",
            Options = RuleOf(template),
        }));
        FileDescriptorProto file = new()
        {
            Name = "rest.proto",
            Syntax = "proto3",
            MessageType = { message },
            Service = { service },
        };
        return RpcSchema.FromDescriptorSet(new FileDescriptorSet { File = { file } }.ToByteArray());
    }

    private static MethodOptions RuleOf(string template)
    {
        using MemoryStream rule = new();
        using (CodedOutputStream output = new(rule, leaveOpen: true))
        {
            output.WriteTag(GetNumber, WireFormat.WireType.LengthDelimited);
            output.WriteString(template);
        }

        using MemoryStream options = new();
        using (CodedOutputStream output = new(options, leaveOpen: true))
        {
            output.WriteTag(RuleNumber, WireFormat.WireType.LengthDelimited);
            output.WriteBytes(ByteString.CopyFrom(rule.ToArray()));
        }

        return MethodOptions.Parser.ParseFrom(options.ToArray());
    }
}
