using System.Collections;
using System.Diagnostics.CodeAnalysis;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Rendering;

/// <summary>Messages of parcels.proto as objects of a host that makes values when they are looked at, as the
/// shell does.</summary>
internal static class Parcels
{
    private static readonly Lazy<RpcSchema> Once =
        new(() => RpcSchema.Load([TestProtos.PathOf("parcels.proto")]));

    public static RpcMessageInfo Type(string name) => Once.Value.GetMessage($"parcels.{name}");

    public static RpcFieldInfo Field(string type, string name) => Type(type).FindField(name)!;

    public static object Make(string type, Hashtable values) => Make(type, values, DeferringModel.Instance);

    public static object Make(string type, Hashtable values, IObjectModel model)
    {
        DynamicMessage message = new MessageMapper().ToMessage(Type(type), values);
        return new MessageMapper(model).ToObject(message);
    }
}

/// <summary>Plain objects, but for values that are made when they are looked at.</summary>
internal sealed class DeferringModel : IObjectModel
{
    public static DeferringModel Instance { get; } = new();

    public int Made { get; private set; }

    bool IObjectModel.Defers => true;

    public object? Unwrap(object? value) => PlainObjectModel.Instance.Unwrap(value);

    public bool TryGetMembers(
        object value, [NotNullWhen(true)] out IEnumerable<KeyValuePair<string, object?>>? members) =>
        PlainObjectModel.Instance.TryGetMembers(value, out members);

    public object CreateObject(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values)
    {
        Made++;
        return PlainObjectModel.Instance.CreateObject(source, fields, values);
    }
}
