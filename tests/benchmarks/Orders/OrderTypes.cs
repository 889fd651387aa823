using System.Runtime.Serialization;
using System.Text.Json.Serialization;

namespace ProtoRpc.Benchmarks.Orders;

/// <summary>An order as a data contract has it.</summary>
[DataContract(Name = "Order", Namespace = "")]
internal sealed class ContractOrder
{
    [DataMember(Order = 0)]
    public int CustomerID { get; set; }

    [DataMember(Order = 1)]
    public string ShippingAddress1 { get; set; } = "";

    [DataMember(Order = 2)]
    public string ShippingAddress2 { get; set; } = "";

    [DataMember(Order = 3)]
    public string ShippingCity { get; set; } = "";

    [DataMember(Order = 4)]
    public string ShippingState { get; set; } = "";

    [DataMember(Order = 5)]
    public string ShippingZip { get; set; } = "";

    [DataMember(Order = 6)]
    public string ShippingCountry { get; set; } = "";

    [DataMember(Order = 7)]
    public string ShipType { get; set; } = "";

    [DataMember(Order = 8)]
    public string CreditCardType { get; set; } = "";

    [DataMember(Order = 9)]
    public string CreditCardNumber { get; set; } = "";

    [DataMember(Order = 10)]
    public DateTime CreditCardExpiration { get; set; }

    [DataMember(Order = 11)]
    public string CreditCardName { get; set; } = "";

    [DataMember(Order = 12)]
    public ContractLine[] OrderItems { get; set; } = [];
}

/// <summary>One item of an order.</summary>
[DataContract(Name = "OrderLine", Namespace = "")]
internal sealed class ContractLine
{
    [DataMember(Order = 0)]
    public int ItemID { get; set; }

    [DataMember(Order = 1)]
    public int Quantity { get; set; }
}

/// <summary>What System.Text.Json generates for orders.</summary>
[JsonSerializable(typeof(ContractOrder[]))]
internal sealed partial class OrderJson : JsonSerializerContext;
