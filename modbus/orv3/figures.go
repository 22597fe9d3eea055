package orv3

import "cnuas/internal/sim"

// figures are the numbers of assume/model.csv that the model's inner loop needs.
type figures struct {
	step, noisePeriod                            sim.Time
	ambient, noise, vin, freq, droop             float64
	loss0, loss1, loss2, overload, share         float64
	trip, restart, start, chargeDelay            sim.Time
	thermTau, thermR, outlet, overHeat           float64
	hotAlarm, hotStop, hotRestart                float64
	outletAlarm, inletAlarm                      float64
	fanMin, fanMax, fanLow, fanHigh              float64
	cellLow, cellHigh, capHigh, packR            float64
	batEta, batVset, taper, floor, again, full   float64
	timeAlarm, capacityAlarm, empty              float64
	batTau, batR, batHot, batHeat                float64
	bulk, bulkTau                                float64
	rpuFlow, rpuSupply, rpuShare, rpuTau, rpuPmp float64
}

func readFigures() figures {
	g := world().figure
	t := func(n string) sim.Time { return sim.Time(g(n)*1000) * sim.Millisecond }
	return figures{
		step: t("step"), noisePeriod: t("noise_period"),
		ambient: g("ambient"), noise: g("noise"), vin: g("vin"), freq: g("freq"), droop: g("droop"),
		loss0: g("loss0"), loss1: g("loss1"), loss2: g("loss2"), overload: g("overload"), share: g("share"),
		trip: t("trip"), restart: t("restart"), start: t("start"), chargeDelay: t("charge_delay"),
		thermTau: g("therm_tau"), thermR: g("therm_r"), outlet: g("outlet"), overHeat: g("over_heat"),
		hotAlarm: g("hot_alarm"), hotStop: g("hot_stop"), hotRestart: g("hot_restart"),
		outletAlarm: g("outlet_alarm"), inletAlarm: g("inlet_alarm"),
		fanMin: g("fan_min"), fanMax: g("fan_max"), fanLow: g("fan_low"), fanHigh: g("fan_high"),
		cellLow: g("cell_low"), cellHigh: g("cell_high"), capHigh: g("cap_high"), packR: g("pack_r"),
		batEta: g("bat_eta"), batVset: g("bat_vset"), taper: g("charge_taper"), floor: g("charge_floor"),
		again: g("charge_start"), full: g("charge_full"),
		timeAlarm: g("time_alarm"), capacityAlarm: g("capacity_alarm"), empty: g("empty"),
		batTau: g("bat_tau"), batR: g("bat_r"), batHot: g("bat_hot"), batHeat: g("bat_heat"),
		bulk: g("bulk"), bulkTau: g("bulk_tau"),
		rpuFlow: g("rpu_flow"), rpuSupply: g("rpu_supply"), rpuShare: g("rpu_share"), rpuTau: g("rpu_tau"), rpuPmp: g("rpu_pump"),
	}
}
