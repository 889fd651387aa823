using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Tool.Verbs;

/// <summary>Finds the services, methods, messages and enums of a schema by full or bare name.</summary>
internal static class SchemaSymbols
{
    /// <summary>The element itself: a service, method, message or enum.</summary>
    /// <exception cref="RpcException">NotFound: there is none of that name.</exception>
    public static object Find(RpcSchema schema, string name)
    {
        // Types are shown with a dot before them: .package.Message.
        string symbol = name.TrimStart('.');
        return TryFind(() => symbol.Contains('/') ? schema.GetMethod(symbol) : schema.GetService(symbol))
            ?? TryFind(() => schema.GetMessage(symbol))
            ?? TryFind(() => schema.GetEnum(symbol))
            ?? TryFind(() => schema.GetMethod(symbol))
            ?? throw new RpcException(
                RpcStatusCode.NotFound,
                $"The schema has no service, method, message or enum '{name}'; "
                + "'protorpc describe' without a name shows what it has.");
    }

    /// <summary>The files that declare elements, with all that they import.</summary>
    /// <inheritdoc cref="Find"/>
    public static RpcSchema PartOf(RpcSchema schema, IEnumerable<string> names)
    {
        Queue<string> wanted = new(names.Select(name => FileOf(Find(schema, name))));
        Dictionary<string, FileDescriptorProto> all = FileDescriptorSet.Parser
            .ParseFrom(schema.ToDescriptorSet()).File.ToDictionary(file => file.Name, StringComparer.Ordinal);
        HashSet<string> found = new(StringComparer.Ordinal);
        while (wanted.TryDequeue(out string? name))
        {
            if (found.Add(name) && all.TryGetValue(name, out FileDescriptorProto? file))
            {
                Array.ForEach([.. file.Dependency, .. file.OptionDependency], wanted.Enqueue);
            }
        }

        FileDescriptorSet part = new();
        part.File.AddRange(all.Values.Where(file => found.Contains(file.Name)));
        return RpcSchema.FromDescriptorSet(part.ToByteArray());
    }

    private static string FileOf(object element) => element switch
    {
        RpcServiceInfo service => service.File.Name,
        RpcMethodInfo method => method.Service.File.Name,
        RpcMessageInfo message => message.File.Name,
        _ => ((RpcEnumInfo)element).File.Name,
    };

    private static object? TryFind(Func<object> look)
    {
        try
        {
            return look();
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.NotFound)
        {
            return null;
        }
    }
}
