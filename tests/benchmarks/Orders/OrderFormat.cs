using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Text;
using System.Text.Json;
using System.Xml;
using Google.Protobuf;

namespace ProtoRpc.Benchmarks.Orders;

/// <summary>A way to write orders: protobuf, and what .NET has for data contracts.</summary>
/// <param name="Name">As processes are told it.</param>
/// <param name="Title">As the report names it.</param>
/// <param name="Write">Makes so many orders and writes them.</param>
/// <param name="Read">Reads orders and counts them.</param>
internal sealed record OrderFormat(string Name, string Title, Func<int, byte[]> Write, Func<byte[], int> Read)
{
    private static readonly DataContractSerializer Contract = new(typeof(ContractOrder[]));
    private static readonly DataContractJsonSerializer ContractJson = new(typeof(ContractOrder[]));

    public static IReadOnlyList<OrderFormat> All { get; } =
    [
        new("protobuf", "protobuf",
            count => SampleOrders.Messages(count).ToByteArray(),
            bytes => Shop.Orders.Parser.ParseFrom(bytes).Orders_.Count),
        new("binary-xml", "data contract, binary XML",
            count => WriteXml(count, stream => XmlDictionaryWriter.CreateBinaryWriter(stream)),
            bytes => ReadXml(XmlDictionaryReader.CreateBinaryReader(bytes, XmlDictionaryReaderQuotas.Max))),
        new("xml", "data contract, XML",
            count => WriteXml(count, stream => XmlDictionaryWriter.CreateTextWriter(stream, Encoding.UTF8)),
            bytes => ReadXml(XmlDictionaryReader.CreateTextReader(bytes, XmlDictionaryReaderQuotas.Max))),
        new("contract-json", "data contract, JSON", WriteContractJson, ReadContractJson),
        new("json", "System.Text.Json",
            count => JsonSerializer.SerializeToUtf8Bytes(
                SampleOrders.Contracts(count), OrderJson.Default.ContractOrderArray),
            bytes => JsonSerializer.Deserialize(bytes, OrderJson.Default.ContractOrderArray)!.Length),
    ];

    public static OrderFormat Of(string name) => All.First(format => format.Name == name);

    private static byte[] WriteXml(int count, Func<Stream, XmlDictionaryWriter> create)
    {
        using MemoryStream stream = new();
        using (XmlDictionaryWriter writer = create(stream))
        {
            Contract.WriteObject(writer, SampleOrders.Contracts(count));
        }

        return stream.ToArray();
    }

    private static int ReadXml(XmlDictionaryReader reader)
    {
        using (reader)
        {
            return ((ContractOrder[])Contract.ReadObject(reader)!).Length;
        }
    }

    private static byte[] WriteContractJson(int count)
    {
        using MemoryStream stream = new();
        ContractJson.WriteObject(stream, SampleOrders.Contracts(count));
        return stream.ToArray();
    }

    private static int ReadContractJson(byte[] bytes)
    {
        using MemoryStream stream = new(bytes);
        return ((ContractOrder[])ContractJson.ReadObject(stream)!).Length;
    }
}
