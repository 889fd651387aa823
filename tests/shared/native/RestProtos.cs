using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.TestServers;

/// <summary>The schema of methods with rules of google.api.http, and schemas of one method whose rule a test
/// writes.</summary>
internal static class RestProtos
{
    private static readonly Lazy<RpcSchema> LibraryOnce =
        new(() => RpcSchema.Load([File], [Folder]));

    /// <summary>The folder with rest.proto and google/api.</summary>
    public static string Folder => Path.Combine(AppContext.BaseDirectory, "rest");

    public static string File => Path.Combine(Folder, "rest.proto");

    /// <summary>The service rest.Library.</summary>
    public static RpcSchema Library => LibraryOnce.Value;

    public static RpcMessageInfo RequestType => Library.GetMessage("rest.Request");

    /// <summary>A request from JSON.</summary>
    public static DynamicMessage Request(string json) => MessageFormats.Json.Read(RequestType, json);

    /// <summary>A schema of services whose methods have rules, each of the type rest.Request, without the
    /// files that declare the rules: the options are unknown bytes in it.</summary>
    /// <param name="rules">The names of the methods, as Service/Method, with the bytes of their
    /// rules.</param>
    public static RpcSchema WithRules(params (string Method, byte[] Rule)[] rules)
    {
        FileDescriptorSet set = FileDescriptorSet.Parser.ParseFrom(Library.ToDescriptorSet());
        FileDescriptorProto file = set.File.Single(candidate => candidate.Name == "rest.proto");
        foreach (MethodDescriptorProto method in file.Service.Single().Method)
        {
            method.Options = null;
        }

        file.Dependency.Remove("google/api/annotations.proto");
        foreach (string name in new[] { "google/api/annotations.proto", "google/api/http.proto" })
        {
            set.File.Remove(set.File.Single(candidate => candidate.Name == name));
        }

        foreach (IGrouping<string, (string Method, byte[] Rule)> service in rules.GroupBy(
            rule => rule.Method.Split('/')[0]))
        {
            ServiceDescriptorProto added = new() { Name = service.Key };
            foreach ((string name, byte[] rule) in service)
            {
                added.Method.Add(new MethodDescriptorProto
                {
                    Name = name.Split('/')[1],
                    InputType = ".rest.Request",
                    OutputType = ".rest.Reply",
                    Options = MethodOptions.Parser.ParseFrom(Field(72295728, rule)),
                });
            }

            file.Service.Add(added);
        }

        return RpcSchema.FromDescriptorSet(set.ToByteArray());
    }

    /// <summary>The bytes of a rule: <c>("get", "/v1/{name}"), ("body", "*")</c>; <c>any</c> is a rule for
    /// all methods of HTTP.</summary>
    public static byte[] Rule(params (string Member, string Value)[] members) =>
    [
        .. members.SelectMany(member => Field(
            member.Member switch
            {
                "get" => 2,
                "put" => 3,
                "post" => 4,
                "delete" => 5,
                "patch" => 6,
                "body" => 7,
                "response_body" => 12,
                "any" => 8,
                _ => throw new ArgumentOutOfRangeException(nameof(members), member.Member, "no member"),
            },
            member.Member == "any"
                ? [.. Field(1, "*"u8.ToArray()), .. Field(2, Encoding.UTF8.GetBytes(member.Value))]
                : Encoding.UTF8.GetBytes(member.Value))),
    ];

    private static byte[] Field(int number, byte[] value)
    {
        using MemoryStream bytes = new();
        using CodedOutputStream output = new(bytes);
        output.WriteTag(number, WireFormat.WireType.LengthDelimited);
        output.WriteBytes(ByteString.CopyFrom(value));
        output.Flush();
        return bytes.ToArray();
    }
}
