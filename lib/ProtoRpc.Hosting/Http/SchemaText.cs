using System.Text;

namespace ProtoRpc.Hosting.Http;

/// <summary>A file of a schema as text, which is written once: writing a large file takes a second.</summary>
internal sealed class SchemaText(RpcSchema schema, string fileName)
{
    private readonly Lazy<byte[]> _bytes = new(() => Encoding.UTF8.GetBytes(schema.ToProtoText(fileName)));

    /// <summary>The text in UTF-8.</summary>
    public byte[] Bytes => _bytes.Value;
}
